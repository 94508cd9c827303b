// Package plan is `slipway plan`.
package plan

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

type options struct {
	from   environment.Flags
	skip   []string
	format string
}

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	o := options{format: "table"}
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what up would create, change, replace and delete",
		Long: `Compares the environment file with the state and shows what up would do, with the
reason for each change. The cloud is only read, and nothing is written.

If a management cluster is there, it then says what the changes replace: machines of the
management cluster and of workload clusters with the reason, controllers with both
versions, what is needed of the quotas meanwhile, and roughly how long it takes: as in a
former run if the log has one that replaced machines, else it is an estimate.`,
		Example: `  slipway plan
  slipway plan -o json | jq '.changes[] | select(.operation == "replace")'
  slipway plan -o json | jq .forecast.clusters`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	o.from.Add(cmd.Flags())
	cmd.Flags().StringSliceVar(&o.skip, "skip-check", nil, "ids of preflight checks to skip")
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

func (o options) run(ctx context.Context, streams ui.Streams) error {
	t, err := target.Open(ctx, o.from, event.Discard{})
	if err != nil {
		return err
	}
	outlook, err := t.Outlook(ctx, o.skip)
	if err != nil {
		return err
	}
	if outlook.Shelved != nil {
		fmt.Fprintf(streams.Err, "warning: %v: %s\n", outlook.Shelved, fault.Remedy(outlook.Shelved))
	}
	if o.format == "table" {
		target.WritePlan(streams.Out, outlook.Plan)
		target.WriteForecast(streams.Out, outlook.Forecast)
	} else if err := ui.Output(streams.Out, o.format, outlook, ui.Table{}); err != nil {
		return err
	}
	return target.Fits(outlook.Forecast, o.skip)
}
