package serve

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/magnum/controller"
	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/fault"
)

// magnumSet are the controllers behind `slipway serve magnum`.
func magnumSet() set {
	o := controller.Options{Chart: func() (*chart.Chart, error) { return openstackcluster.Chart() }, Clouds: look.NewCache(time.Now)}
	login, values, authorities := "", "", ""
	return set{
		name: "magnum", what: "creates clusters from the resources of the Magnum-compatible API",
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&login, "magnum-os-cloud", "", "entry of clouds.yaml of an administrator, used to revoke clusters' application credentials; without one they stay valid")
			f.StringToStringVar(&o.Defaults.Labels, "magnum-label", nil, "default of a label that neither the cluster nor its template sets: boot_volume_size=20")
			f.StringVar(&values, "magnum-values", "", "YAML file of default values of the openstack-cluster chart; a cluster keeps them until it is upgraded")
			f.DurationVar(&o.Patience, "magnum-patience", 5*time.Minute, "how long a problem that the controllers cannot solve may last before the operation fails")
			f.DurationVar(&o.Overlap, "magnum-credential-overlap", 10*time.Minute, "how long a superseded credential stays valid")
			f.StringVar(&authorities, "magnum-cloud-ca", "", "PEM file of the cloud's CA certificates, which all clusters get; without one they keep those of their creation")
			f.IntVar(&o.Concurrency, "magnum-workers", 8, "how many clusters are reconciled in parallel")
		},
		validate: func() (err error) {
			if o.Concurrency < 1 {
				return fault.Usage("--magnum-workers", fmt.Errorf("%d is too small", o.Concurrency), "give 1 or more")
			}
			o.CloudCA, err = readCloudCA(authorities)
			if err != nil {
				return err
			}
			o.Defaults.Values, err = readValues(values)
			return err
		},
		scheme: func(*runtime.Scheme) error { return nil }, // they bring their own
		setup: func(m manager.Manager, g *barrier) error {
			o.Log = slog.New(logr.ToSlogHandler(m.GetLogger()))
			if login != "" {
				o.Revoker = controller.AdminRevoker{Cloud: cloud.Options{Cloud: login, Env: environment.System(), UserAgent: environment.UserAgent(), Wrap: g.wrap()}}
			}
			return controller.Setup(m, o)
		},
	}
}

// readCloudCA reads the file of --magnum-cloud-ca.
func readCloudCA(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fault.Usage("--magnum-cloud-ca", err, "give a readable file")
	}
	all, err := controller.CloudCA(text)
	if err != nil {
		return nil, fault.Usage("--magnum-cloud-ca "+file, err, "give a PEM file of certificates")
	}
	return all, nil
}

// readValues reads the file of --magnum-values.
func readValues(file string) (map[string]any, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fault.Usage("--magnum-values", err, "give a readable file")
	}
	values := map[string]any{}
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		return nil, fault.Usage("--magnum-values "+file, err, "give a YAML map with values of the openstack-cluster chart")
	}
	return values, nil
}
