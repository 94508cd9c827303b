// Package refresh is `slipway refresh`.
package refresh

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/ui"
)

type options struct {
	from             environment.Flags
	progress, format string
}

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	o := options{progress: "auto", format: "table"}
	cmd := &cobra.Command{
		Use:   "refresh",
		Short: "Update the state from the cloud, and show the drift",
		Long: `Reads every resource of the state from the cloud. Drift, a change that others made, is
shown and written to the state, so that the next up corrects it. The cloud is not
changed. slipway status --drift shows the same without changing the state.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	o.from.Add(cmd.Flags())
	ui.ProgressFlag(cmd.Flags(), &o.progress)
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

func (o options) run(ctx context.Context, streams ui.Streams) error {
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	t, err := target.Open(ctx, o.from, progress)
	if err != nil {
		progress.Close()
		return err
	}
	drift, err := t.Engine.Refresh(ctx, true)
	progress.Close()
	if err != nil {
		return err
	}
	if o.format == "table" {
		target.WritePlan(streams.Out, drift)
		return nil
	}
	return ui.Output(streams.Out, o.format, drift, ui.Table{})
}
