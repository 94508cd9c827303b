// Package sandbox is `slipway sandbox`: start, stop, status, reset, faults.
package sandbox

import (
	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command with its sub-commands.
func New(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "A cloud in a box: OpenStack's APIs on this computer",
		Long: `The sandbox is an OpenStack cloud in one process, for trying things and for
tests. It answers on the loopback interface only. What was made in it stays when
it is stopped or killed, until reset.`,
	}
	cmd.AddCommand(newStart(streams), newStop(streams), newStatus(streams), newReset(streams), newFaults(streams))
	return cmd
}

// dirFlag adds --dir.
func dirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", "", "folder of the sandbox's state (default "+describeDefault()+")")
}
