// Package serve is `slipway serve`: what runs on management clusters, in pods.
package serve

import (
	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run Slipway's services on a management cluster",
		Long: `Serve runs until it gets SIGTERM or SIGINT. Deployments of the chart "controllers" do
so in a cluster; with --kubeconfig it runs anywhere, such as for debugging.`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(newControllers(streams, allSets()), newMagnum(streams))
	return cmd
}
