// Package bundle is `slipway bundle`: what makes, moves, signs and checks bundles.
package bundle

import (
	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/ui"
)

// New returns the command with its sub-commands.
func New(streams ui.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bundle",
		Short: "Build, pull, sign, move, verify and serve the bundle: all that Slipway installs on machines",
		Long: `A bundle is a folder with everything that Slipway installs on machines: binaries,
container images, manifests, charts and machine images, and bundle.yaml, the bill
of materials with a digest for every file. The folder is also an OCI layout, so any
tool that reads OCI layouts can copy its images. At run time Slipway uses nothing
from outside the bundle.`,
	}
	cmd.AddCommand(newEnsure(streams), newBuild(streams), newPull(streams), newPin(streams), newSign(streams), newPush(streams), newSave(streams), newLoad(streams), newVerify(streams), newServe(streams), newInspect(streams), newList(streams))
	return cmd
}

// dirFlag adds --dir.
func dirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", "bundle", "folder of the bundle")
}
