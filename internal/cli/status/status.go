// Package status is `slipway status`.
package status

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/overview"
	"github.com/slipway-sh/slipway/internal/ui"
)

type options struct {
	from   environment.Flags
	drift  bool
	wide   bool
	format string
}

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	o := options{format: "table"}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the resources, the clusters and the drift of the environment",
		Long: `Shows every resource in the cloud that carries the environment's ownership tag; what
runs on the seed; and the management cluster with its workload clusters: the parts that
are not ready, each with its cause. The list comes from the cloud, not from the state, so
it includes what a killed run left behind.

The table fits a terminal: healthy resources are counted by type, and only those with a
problem have a line of their own. --wide prints a line for each, with IDs. The last line
says whether all is well, and if not, the first cause.

With --drift it also compares the cloud with the state, and changes neither.`,
		Example: `  slipway status
  slipway status -o json | jq -r '.resources[].id'
  slipway status --wide
  slipway status --drift`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	o.from.Add(cmd.Flags())
	cmd.Flags().BoolVar(&o.wide, "wide", false, "print a line for every resource, with IDs, however wide the table gets")
	cmd.Flags().BoolVar(&o.drift, "drift", false, "also compare the cloud with the state")
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

func (o options) run(ctx context.Context, streams ui.Streams) error {
	r, err := overview.Read(ctx, o.from, o.drift)
	if err != nil {
		return err
	}
	return ui.Output(streams.Out, o.format, r, r.Table(o.wide, o.drift, time.Now()))
}
