package serve

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/magnum/api"
	"github.com/slipway-sh/slipway/addons/magnum/certificate"
	"github.com/slipway-sh/slipway/addons/magnum/openstack"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/magnum/router"
	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/internal/cli/listen"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// magnumOptions are the flags of `slipway serve magnum`.
type magnumOptions struct {
	options
	at          listen.Options
	drain       time.Duration
	installCRDs bool

	identity
	credentials  openstack.CredentialOptions
	quota        int32
	lease, peers string
	api          api.Options
	// others are management clusters whose APIs are served here too.
	others membership
	front  router.Options
}

func newMagnum(streams ui.Streams) *cobra.Command {
	o := &magnumOptions{}
	cmd := &cobra.Command{
		Use:   "magnum",
		Short: "Serve the Magnum-compatible REST API",
		Long: `Serves OpenStack's container-infra API, versions 1.1 to 1.14. Its state is kept in
custom resources of magnum.slipway.sh on the cluster of --kubeconfig; controllers
create clusters from them. It needs no database, and you can run any number of
replicas.

The service user comes from clouds.yaml (--os-cloud, OS_CLOUD,
OS_CLIENT_CONFIG_FILE). It validates tokens, so it needs the role service or admin.
Everything else is done with the tokens of callers.

With --member it serves the APIs of other management clusters too, as "slipway serve
magnum-router" does.

After SIGTERM the health check answers 503 for --drain-time, so that load balancers
use other replicas; then open requests are finished.`,
		Example: `  slipway serve magnum --os-cloud magnum --tls-cert tls.crt --tls-key tls.key
  slipway serve magnum --kubeconfig ~/.kube/config --os-cloud devstack --install-crds --listen 127.0.0.1:9511
  slipway serve magnum --os-cloud magnum --public-endpoint https://cloud.example:9511/v1 --policy-file policy.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.serve(cmd.Context(), streams) },
	}
	o.commonFlags(cmd.Flags())
	o.cloudFlags(cmd.Flags())
	o.apiFlags(cmd.Flags())
	o.others.flags(cmd.Flags(), "another management cluster whose API is served here too")
	cmd.Flags().StringVar(&o.others.own, "member-name", "", "name of this management cluster among those of --member")
	return cmd
}

func (o *magnumOptions) commonFlags(f *pflag.FlagSet) {
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file (default: the pod's service account)")
	f.StringVar(&o.metricsAddress, "metrics-address", ":8080", "address of Prometheus metrics over HTTP, at /metrics; 0 turns them off")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error; info includes the audit log of all changes and refusals")
	f.StringVar(&o.logFormat, "log-format", "json", "json or text")
	f.DurationVar(&o.drain, "drain-time", 5*time.Second, "how long the health check fails before requests are refused")
	f.StringVar(&o.peers, "peers", "", "where all replicas have their metrics: namespace/name of a Service with a port metrics, or a host:port that DNS resolves; a write is answered when all replicas show it")
	f.BoolVar(&o.installCRDs, "install-crds", false, "apply the CustomResourceDefinitions first")
	o.at.Flags(f, ":9511", "API")
}

func (o *magnumOptions) cloudFlags(f *pflag.FlagSet) {
	o.identity.flags(f, "; clusters get them too", "Magnum's")
	f.StringSliceVar(&o.credentials.Roles, "credential-roles", []string{"member", "load-balancer_member", "creator"}, "roles of clusters' application credentials, limited to those of the caller (default: all roles of the caller)")
	f.StringVar(&o.credentials.Interface, "credential-interface", "public", "endpoint interface that clusters use: public, internal or admin")
}

func (o *magnumOptions) apiFlags(f *pflag.FlagSet) {
	a := &o.api
	f.StringVar(&a.PublicEndpoint, "public-endpoint", "", "base URL of links, such as https://cloud.example:9511/v1 (default: the URL of the request)")
	f.BoolVar(&a.TrustForwarded, "trust-forwarded-headers", false, "trust the headers Forwarded and X-Forwarded-*; use it only behind a proxy that sets them")
	f.StringSliceVar(&a.Origins, "cors-origin", nil, "browser origins that may call the API (CORS); * allows any")
	f.StringVar(&a.DisableFile, "disable-by-file", "", "the health check fails while this file exists")
	f.IntVar(&a.MaxLimit, "max-limit", 1000, "maximum number of entries per page of a list")
	f.Int64Var(&a.MaxBody, "max-body", 112<<10, "maximum size of a request body, in bytes")
	f.DurationVar(&a.RequestTime, "request-timeout", 45*time.Second, "maximum duration of a request; load balancers of Octavia end connections without data after 50s")
	placesFlags(f, &a.MaxReads, &a.MaxWrites)
	f.Int32Var(&o.quota, "default-quota", 20, "quota of clusters for projects without a quota of their own")
	f.DurationVar(&a.Term, "certificate-term", certificate.Term, "how long signed certificates are valid")
	f.StringVar(&o.lease, "controllers-lease", "slipway-system/slipway-magnum", "namespace/name of the controllers' Lease, for GET /v1/mservices")
	r := &a.Rules
	f.StringVar(&r.NetworkDriver, "network-driver", "calico", "CNI of cluster templates that name none")
	f.StringSliceVar(&r.NetworkDrivers, "network-drivers", []string{"calico", "cilium"}, "CNIs that cluster templates may name; all allows any")
	f.StringSliceVar(&r.Distros, "os-distros", nil, "accepted values of an image's os_distro (default: those of both Cluster API drivers)")
	f.StringVar(&r.Architecture, "node-architecture", "", "processor that an image's property architecture may name, such as x86_64; all allows any (default: this machine's)")
	f.IntVar(&r.MinRAM, "min-flavor-ram", 2048, "minimum memory of a node's flavor, in MiB")
	f.IntVar(&r.MinVCPUs, "min-flavor-vcpus", 2, "minimum vCPUs of a node's flavor")
	f.IntVar(&r.BootVolumeSize, "boot-volume-size", 0, "boot volume size in GB for clusters without the label; 0 uses the flavor's disk")
	f.BoolVar(&r.RotateCA, "ca-rotation", false, "accept requests to rotate certificate authorities; the controllers must support it")
}

// check validates all flags and files before anything starts.
func (o *magnumOptions) check() error {
	if err := o.at.Check(); err != nil {
		return err
	}
	if _, err := o.leaseName(); err != nil {
		return err
	}
	if u, err := url.Parse(o.api.PublicEndpoint); o.api.PublicEndpoint != "" && (err != nil || u.Host == "") {
		return fault.Usage("--public-endpoint", fmt.Errorf("%q is not a URL", o.api.PublicEndpoint), "give a URL such as https://cloud.example:9511/v1")
	}
	if err := errors.Join(o.checkLimits(), o.checkPeers(), o.checkOthers()); err != nil {
		return err
	}
	switch r := &o.api.Rules; r.Architecture {
	case "": // the pod runs the bundle's image, which is for one processor as the addons' are
		r.Architecture = images.Architecture(runtime.GOARCH)
	case "all":
		r.Architecture = ""
	}
	return o.readFiles()
}

// checkLimits names each limit that nothing could be done with.
func (o *magnumOptions) checkLimits() error {
	a := &o.api
	return errors.Join(
		atLeast("--default-quota", o.quota, 0),
		atLeast("--max-limit", a.MaxLimit, 1),
		atLeast("--max-body", a.MaxBody, 1),
		checkPlaces(a.MaxReads, a.MaxWrites),
		atLeast("--token-cache-time", o.remember, time.Millisecond),
		atLeast("--request-timeout", a.RequestTime, time.Millisecond),
		atLeast("--certificate-term", a.Term, time.Millisecond),
	)
}

// checkPeers checks that replicas can ask each other.
func (o *magnumOptions) checkPeers() error {
	if o.peers == "" {
		return nil
	}
	_, service := o.peerService()
	if _, _, err := net.SplitHostPort(o.peers); err != nil && !service {
		return fault.Usage("--peers", err, "give namespace/name of a Service, such as slipway-system/slipway-magnum-metrics, or host:port")
	}
	if o.metricsAddress == noServer {
		return fault.Usage("--peers", fmt.Errorf("--metrics-address is 0"), "set a metrics address: replicas ask each other there")
	}
	return nil
}

// checkOthers reads which management clusters are served too.
func (o *magnumOptions) checkOthers() error {
	if len(o.others.given) == 0 {
		return nil
	}
	var wrong []error
	if o.others.own == "" {
		wrong = append(wrong, fault.Usage("--member-name", errors.New("it is missing"), "give this management cluster a name, which placements of projects have"))
	}
	var err error
	o.front.Members, err = o.others.read()
	wrong = append(wrong, err)
	o.front.Transport, err = o.others.transport(o.caBundle)
	return errors.Join(append(wrong, err)...)
}

// readFiles reads the files that flags name.
func (o *magnumOptions) readFiles() error {
	var err error
	if o.api.Policy, err = o.rules("docs/guides/magnum.md", policy.New); err != nil {
		return err
	}
	o.credentials.CACert, err = o.authorities()
	return err
}

// peerService is the Service that --peers names, unless that is host:port.
func (o *magnumOptions) peerService() (types.NamespacedName, bool) { return namespaced(o.peers) }

func (o *magnumOptions) leaseName() (types.NamespacedName, error) {
	lease, ok := namespaced(o.lease)
	if !ok {
		return lease, fault.Usage("--controllers-lease", fmt.Errorf("%q is not namespace/name", o.lease), "give a Lease such as slipway-system/slipway-magnum")
	}
	return lease, nil
}

// namespaced reads namespace/name.
func namespaced(text string) (types.NamespacedName, bool) {
	namespace, name, ok := strings.Cut(text, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}, ok && namespace != "" && name != "" && !strings.Contains(name, "/")
}
