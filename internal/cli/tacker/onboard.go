package tacker

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/catalog"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// onboardOptions are the flags of `slipway tacker onboard`.
type onboardOptions struct {
	kubeconfig string
	projects   []string
	disable    bool
}

func newOnboard(streams ui.Streams) *cobra.Command {
	o := onboardOptions{}
	cmd := &cobra.Command{
		Use:   "onboard FILE",
		Short: "Offer a package to the clients of slipway serve vnflcm",
		Long: `Checks a package and stores it as a VNFPackage on the management cluster, from where
"slipway serve vnflcm" makes clusters of it. Its name is the vnfdId. Running it again
changes who may use the package.

The endpoint applies what a package says with its own rights, so onboard only packages
that you trust.`,
		Example: `  slipway tacker onboard shop.csar --kubeconfig kubeconfig
  slipway tacker onboard shop.csar --kubeconfig kubeconfig --project 3f0c1d9a8b7e4c5d9e6f7a8b9c0d1e2f
  slipway tacker onboard shop.csar --kubeconfig kubeconfig --disable`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), streams, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file of the management cluster")
	flags.StringSliceVar(&o.projects, "project", nil, "ids of projects that may use the package (default: all)")
	flags.BoolVar(&o.disable, "disable", false, "refuse new instances of the package; existing ones stay")
	return cmd
}

func (o *onboardOptions) run(ctx context.Context, streams ui.Streams, path string) error {
	if o.kubeconfig == "" {
		return fault.Usage("--kubeconfig", errors.New("it is missing"), "give the kubeconfig of the management cluster, such as from `slipway kubeconfig`")
	}
	text, err := read("package", path)
	if err != nil {
		return err
	}
	content, err := csar.Verify(text)
	if err != nil {
		return err
	}
	if err := catalog.Suits(content); err != nil {
		return fault.Usage(path, err, "make one with: slipway tacker csar workload")
	}
	if len(text) > maxPackage {
		return fault.Usage(path, fmt.Errorf("it has %d bytes, and a resource holds %d", len(text), maxPackage), "leave out of the package what is not needed")
	}
	c, err := o.client()
	if err != nil {
		return err
	}
	p := &v1alpha1.VNFPackage{ObjectMeta: metav1.ObjectMeta{Name: content.ID}}
	result, err := controllerutil.CreateOrUpdate(ctx, c, p, func() error {
		p.Spec = v1alpha1.VNFPackageSpec{Product: content.VNFD.Product, Version: content.VNFD.Version, Content: text, Projects: o.projects, Disabled: o.disable}
		return nil
	})
	if err != nil {
		return fault.New("package "+content.ID, err, "check the kubeconfig; slipway serve vnflcm --install-crds installs the definitions")
	}
	_, err = fmt.Fprintf(streams.Out, "%s %s\n", content.ID, result)
	return err
}

// maxPackage is how large a package in a resource can be: etcd takes 1.5 MiB, and the
// content is base64.
const maxPackage = 1 << 20

func (o *onboardOptions) client() (client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return nil, fault.Usage("--kubeconfig "+o.kubeconfig, err, "give a file that kubectl --kubeconfig accepts")
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("kinds of the API: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fault.New("kubeconfig", err, "check that the cluster answers")
	}
	return c, nil
}
