package image

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

func newVerify(streams ui.Streams) *cobra.Command {
	o, content := newOptions(), false
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Compare the images in Glance with an image manifest",
		Long: `Compares digests, properties, members and visibility with the image manifest, checks
that node images are fit for clusters, and reads one byte of each image from Glance.
--content reads all bytes and compares them with Glance's digest. Nothing is changed.
The exit code is 1 if there are findings.`,
		Example: `  slipway image verify
  slipway image verify --content --only kube_1_34 -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.verify(cmd.Context(), streams, content) },
	}
	o.manifestFlags(cmd.Flags())
	o.cloudFlags(cmd.Flags())
	cmd.Flags().BoolVar(&content, "content", false, "read all bytes of each image")
	ui.FormatFlag(cmd.Flags(), &o.format)
	ui.ProgressFlag(cmd.Flags(), &o.progress)
	return cmd
}

func (o *options) verify(ctx context.Context, streams ui.Streams, content bool) error {
	m, err := o.read(ctx)
	if err != nil {
		return err
	}
	var findings []images.Finding
	failed := o.work(ctx, streams, func(s *images.Syncer) (err error) {
		findings, err = s.Verify(ctx, m, content)
		return err
	})
	if failed != nil && len(findings) == 0 {
		return failed
	}
	table := ui.Table{Header: []string{"IMAGE", "PROPERTY", "CAUSE", "FIX"}}
	for _, f := range findings {
		table.Rows = append(table.Rows, []string{f.Image, f.Property, f.Cause, f.Remedy})
	}
	if len(findings) == 0 {
		table = ui.Table{Footer: []string{fmt.Sprintf("%s: all images match the manifest", strings.Join(m.Keys(), ", "))}}
	}
	if err := ui.Output(streams.Out, o.format, append([]images.Finding{}, findings...), table); err != nil || len(findings) == 0 {
		return err
	}
	different := fault.New(o.manifest, errors.New(fmt.Sprint("findings: ", len(findings))), "run slipway image sync, which repairs what it can; for the rest see the column FIX")
	return errors.Join(failed, different)
}
