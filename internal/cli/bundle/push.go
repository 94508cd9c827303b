package bundle

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/bundle/artifact"
	"github.com/slipway-sh/slipway/internal/ui"
)

type pushOptions struct {
	dir, progress string
	unsigned      bool
	artifact.PushOptions
}

func newPush(streams ui.Streams) *cobra.Command {
	o := pushOptions{progress: "auto"}
	cmd := &cobra.Command{
		Use:   "push oci://REGISTRY/REPOSITORY:TAG",
		Short: "Upload a whole bundle to a registry",
		Long: `Uploads the bundle as one OCI artifact, with its signature. What the repository has
already is not sent again: run the same command again after an interruption, and push
the next bundle to the same repository. The credentials are those of docker or podman.`,
		Example: `  slipway bundle push oci://registry.example.org/slipway/bundle:v0.1.0
  slipway bundle push oci://localhost:5000/slipway/bundle:v0.1.0 --unsigned --jobs 8`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), streams, args[0]) },
	}
	dirFlag(cmd, &o.dir)
	cmd.Flags().BoolVar(&o.unsigned, "unsigned", false, "push a bundle that is not signed")
	cmd.Flags().IntVar(&o.Jobs, "jobs", 4, "how many uploads to run at once")
	ui.ProgressFlag(cmd.Flags(), &o.progress)
	return cmd
}

func (o pushOptions) run(ctx context.Context, streams ui.Streams, address string) error {
	ref, err := artifact.Reference(address)
	folder, openErr := openSigned(o.dir, o.unsigned)
	if err := errors.Join(err, openErr); err != nil {
		return err
	}
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	findings, err := folder.Verify(ctx, progress)
	for _, finding := range findings {
		err = errors.Join(err, finding.Fault())
	}
	if err != nil {
		progress.Close()
		return err
	}
	o.Sink, o.Keychain = progress, authn.DefaultKeychain
	digest, err := artifact.Push(ctx, folder, ref, o.PushOptions)
	progress.Close()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(streams.Out, "%s%s@%s\n", artifact.Scheme, ref.Context().Name(), digest)
	return err
}
