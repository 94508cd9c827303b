package image

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/images"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/ui"
)

func newPrune(streams ui.Streams) *cobra.Command {
	o, dry, yes := newOptions(), false, false
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Retire images that left the image manifest: hide first, delete later",
		Long: `Retires images that Slipway uploaded and that are no longer in the image manifest. It
keeps the newest spec.retire.keep images of each Kubernetes minor version, including
those of the manifest. Older ones are hidden, and deleted once they were hidden for
spec.retire.deleteAfter. Images that a server, a volume in use or a cluster template
uses are never touched, nor are images that somebody else uploaded.`,
		Example: `  slipway image prune --dry-run
  slipway image prune --yes -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.prune(cmd.Context(), streams, dry, yes) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.manifest, "manifest", "m", defaultManifest, "file or URL of the image manifest")
	o.cloudFlags(flags)
	flags.BoolVar(&dry, "dry-run", false, "only show what would be retired")
	flags.BoolVar(&yes, "yes", false, "do not ask for confirmation")
	ui.FormatFlag(flags, &o.format)
	ui.ProgressFlag(flags, &o.progress)
	return cmd
}

func (o *options) prune(ctx context.Context, streams ui.Streams, dry, yes bool) error {
	m, err := o.read(ctx)
	if err != nil {
		return err
	}
	var plan []images.Retirement
	err = o.work(ctx, streams, func(s *images.Syncer) (err error) {
		plan, err = s.RetirementPlan(ctx, m)
		return err
	})
	if err != nil {
		return err
	}
	table := ui.Table{Header: []string{"STEP", "NAME", "ID", "REASON"}}
	for _, p := range plan {
		table.Rows = append(table.Rows, []string{string(p.Step), p.Record.Name, p.Record.ID, p.Reason})
	}
	if err := ui.Output(streams.Out, o.format, append([]images.Retirement{}, plan...), table); err != nil {
		return err
	}
	idle := !slices.ContainsFunc(plan, func(p images.Retirement) bool { return p.Step != images.Keep })
	if dry || idle {
		return nil
	}
	if !yes {
		if err := target.Confirm(ctx, streams, "retire these images?"); err != nil {
			return err
		}
	}
	return o.work(ctx, streams, func(s *images.Syncer) error { return s.Prune(ctx, plan) })
}
