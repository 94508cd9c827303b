//go:build linux

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
		Short: "Run an OpenStack sandbox on your machine",
		Long: `The sandbox is an OpenStack cloud in one process, for trying Slipway and for tests. It
listens on the loopback interface only. Its resources survive when it is stopped or
killed; slipway sandbox reset deletes them.`,
	}
	cmd.AddCommand(newStart(streams), newStop(streams), newStatus(streams), newReset(streams), newFaults(streams))
	return cmd
}

// dirFlag adds --dir.
func dirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", "", "folder of the sandbox's state (default "+describeDefault()+")")
}
