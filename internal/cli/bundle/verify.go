package bundle

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/artifact"
	"github.com/slipway-sh/slipway/internal/ui"
)

type verifyOptions struct {
	dir, progress, format string
	keys                  []string
}

func newVerify(streams ui.Streams) *cobra.Command {
	o := verifyOptions{progress: "auto", format: "table"}
	cmd := &cobra.Command{
		Use:   "verify [ITEM...]",
		Short: "Read every byte of a bundle and compare it with the bill of materials",
		Example: `  slipway bundle verify
  slipway bundle verify k3s --dir /srv/bundle
  slipway bundle verify --key bundle.pub
  slipway bundle verify -o json`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), streams, args) },
	}
	dirFlag(cmd, &o.dir)
	cmd.Flags().StringSliceVar(&o.keys, "key", nil, "check the signature too: public key of minisign, or its file; can be repeated")
	ui.FormatFlag(cmd.Flags(), &o.format)
	ui.ProgressFlag(cmd.Flags(), &o.progress)
	return cmd
}

// result is what verify prints as data.
type result struct {
	Items    int              `json:"items"`
	Bytes    int64            `json:"bytes"`
	Findings []bundle.Finding `json:"findings"`
}

func (o verifyOptions) run(ctx context.Context, streams ui.Streams, names []string) error {
	folder, err := bundle.Open(o.dir)
	if err != nil {
		return err
	}
	items, err := folder.Bill().Select(names)
	if err != nil {
		return err
	}
	if err := o.signature(folder); err != nil {
		return err
	}
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	findings, err := folder.Verify(ctx, progress, names...)
	progress.Close()
	if err != nil {
		return err
	}
	r := result{Items: len(items), Findings: findings}
	for _, item := range items {
		r.Bytes += item.Size
	}
	if len(findings) == 0 || o.format != "table" {
		if err := ui.Output(streams.Out, o.format, r, ui.Table{Footer: []string{fmt.Sprintf("%d items, %s: every digest matches", r.Items, ui.Bytes(r.Bytes))}}); err != nil {
			return err
		}
	}
	var errs []error
	for _, finding := range findings {
		errs = append(errs, finding.Fault())
	}
	return errors.Join(errs...)
}

// signature checks who signed the bundle, where keys are given.
func (o verifyOptions) signature(folder *bundle.Folder) error {
	if len(o.keys) == 0 {
		return nil
	}
	trust, err := artifact.NewTrust(o.keys, false)
	if err != nil {
		return err
	}
	bill, signature, err := folder.BillText()
	if err != nil {
		return err
	}
	return trust.Check(o.dir, bill, signature)
}
