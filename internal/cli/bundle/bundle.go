// Package bundle is `slipway bundle`: build, pull, verify, inspect, list.
package bundle

import (
	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command with its sub-commands.
func New(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bundle",
		Short: "Everything that goes on machines, in one folder with a digest for every byte",
		Long: `A bundle is a folder with everything that Slipway puts on machines: binaries,
container images, manifests, charts and machine images, and bundle.yaml, the bill
of materials. The folder is also an OCI layout, so that any tool that reads one
can copy its images. Nothing that is not in the bundle is used at run time.`,
	}
	cmd.AddCommand(newEnsure(streams), newBuild(streams), newPull(streams), newPin(streams), newVerify(streams), newServe(streams), newInspect(streams), newList(streams))
	return cmd
}

// dirFlag adds --dir.
func dirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", "bundle", "folder of the bundle")
}
