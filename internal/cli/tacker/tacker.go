// Package tacker is `slipway tacker`: packages, requests and credentials for OpenStack
// Tacker and other VNF managers.
package tacker

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command with its sub-commands.
func New(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tacker",
		Short: "Make packages by which OpenStack Tacker manages clusters",
		Long: `Makes VNF packages (CSARs) of a management cluster and of workload clusters, the requests
of each step of their life cycle, and receives the credentials of clusters that are
ready. See docs/guides/tacker.md.`,
	}
	cmd.AddCommand(newCSAR(streams), newRequests(streams), newReceiver(streams), newOnboard(streams), newEndpoint(streams))
	return cmd
}

// read reads a file that a flag or argument names.
func read(name, path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.Usage(name, err, "give a readable file")
	}
	return text, nil
}
