package tacker

import (
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

func newEndpoint(streams ui.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "endpoint VALUES",
		Short: "Print the manifests of the endpoint for a management cluster",
		Long: `Prints what "slipway serve vnflcm" needs to run on a management cluster: definitions,
rights, a Deployment, a load balancer and a certificate. VALUES is a YAML file with values
of the chart of controllers, below vnflcm.

The output holds the service user's password: pass it on, and do not keep it.`,
		Example: `  slipway tacker endpoint values.yaml | kubectl apply --server-side -f -`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return endpoint(streams, args[0]) },
	}
}

func endpoint(streams ui.Streams, file string) error {
	text, err := read("VALUES", file)
	if err != nil {
		return err
	}
	values := map[string]any{}
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		return fault.Usage(file, err, "give a YAML map; see docs/guides/vnflcm.md")
	}
	objects, err := controllers.VNFLCM(values)
	if err != nil {
		return err
	}
	for _, o := range objects {
		text, err := yaml.Marshal(o.Object)
		if err == nil {
			_, err = fmt.Fprintf(streams.Out, "---\n%s", text)
		}
		if err != nil {
			return fmt.Errorf("printing manifests: %w", err)
		}
	}
	return nil
}
