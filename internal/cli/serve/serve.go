// Package serve is `slipway serve`: the services that run in pods on management
// clusters.
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
		Long: `Runs a service until it gets SIGTERM or SIGINT. On a management cluster the Deployments
of the chart "controllers" run it; with --kubeconfig you can run it anywhere, for example
to debug it.`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(newControllers(streams, allSets()), newMagnum(streams), newRouter(streams), newVNFLCM(streams), newConsole(streams))
	return cmd
}
