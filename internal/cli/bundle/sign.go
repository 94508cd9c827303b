package bundle

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/artifact"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

type signOptions struct{ dir, key, comment string }

func newSign(streams ui.Streams) *cobra.Command {
	o := signOptions{}
	cmd := &cobra.Command{
		Use:   "sign",
		Short: "Sign a bundle with a key of minisign",
		Long: `Reads every byte of the bundle, and signs its bill of materials, which has the digest
of every item. The signature is in bundle.yaml.minisig, which minisign -V checks too;
push and save include it. Any change of the bundle removes it.

If the key has a password, set ` + passwordVariable + `.`,
		Example: `  minisign -G -p bundle.pub -s bundle.key
  slipway bundle sign --key bundle.key
  slipway bundle sign --key bundle.key --comment "Slipway v0.1.0"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	dirFlag(cmd, &o.dir)
	cmd.Flags().StringVar(&o.key, "key", "", "file with the secret key")
	cmd.Flags().StringVar(&o.comment, "comment", "", "comment that is signed too")
	return cmd
}

func (o signOptions) run(ctx context.Context, streams ui.Streams) error {
	if o.key == "" {
		return fault.Usage("--key", errors.New("no key is given"), "name the file of a secret key; minisign -G makes one")
	}
	key, err := os.ReadFile(o.key)
	if err != nil {
		return fault.Usage("--key", err, "name the file of a secret key")
	}
	old, err := bundle.Open(o.dir)
	if err != nil {
		return err
	}
	folder, err := bundle.Create(o.dir, old.Bill().Platform)
	if err != nil {
		return err
	}
	defer folder.Close()
	findings, err := folder.Verify(ctx, event.Discard{})
	if err != nil {
		return err
	}
	for _, finding := range findings {
		err = errors.Join(err, finding.Fault())
	}
	if err != nil {
		return err
	}
	if err := artifact.Sign(folder, key, password(), o.comment); err != nil {
		return err
	}
	_, err = fmt.Fprintf(streams.Out, "bundle %s: %d items verified and signed\n", o.dir, len(folder.Bill().Items))
	return err
}
