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
reason for each change. The cloud is only read, and nothing is written.`,
		Example: `  slipway plan
  slipway plan -o json | jq '.changes[] | select(.operation == "replace")'`,
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
	program, _, err := t.Program(ctx, o.skip)
	if err != nil {
		return err
	}
	plan, err := t.Engine.Preview(ctx, program.Program)
	if err != nil {
		return err
	}
	shelved, err := t.Shelved(ctx)
	if err != nil {
		return err
	}
	if shelved && !plan.Empty() {
		fmt.Fprintf(streams.Err, "warning: %v: %s\n", t.ErrShelved(), fault.Remedy(t.ErrShelved()))
	}
	if o.format == "table" {
		target.WritePlan(streams.Out, plan)
		return nil
	}
	return ui.Output(streams.Out, o.format, plan, ui.Table{})
}
