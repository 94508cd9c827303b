//go:build !linux

// Package sandbox is `slipway sandbox` where there is none.
package sandbox

import (
	"errors"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns a command that says why there is no sandbox. All else of Slipway
// works on a cloud from here.
func New(ui.Streams) *cobra.Command {
	return &cobra.Command{
		Use:                "sandbox",
		Short:              "Run an OpenStack sandbox on your machine (on Linux only)",
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return fault.Usage("slipway sandbox on "+runtime.GOOS, errors.New("the sandbox needs Linux: its machines are containers and virtual machines on Linux's networks"),
				"run it on a machine with Linux, or in a virtual machine")
		},
	}
}
