package cluster

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/workload"
)

type describeOptions struct {
	from environment.Flags
	place
	format string
}

func newDescribe(streams ui.Streams) *cobra.Command {
	o := describeOptions{format: "table"}
	cmd := &cobra.Command{
		Use:   "describe NAME",
		Short: "Show the objects of a workload cluster, and why they are not ready",
		Long: `Shows a cluster as a tree of objects, each with its state. An object that is not ready
has a cause: the message of its controller, or of the cloud where a quota, a flavor or a
host is missing. For the object that the others wait for, conditions and recent events
follow.`,
		Example: `  slipway cluster describe shop
  slipway cluster describe shop -o json | jq '.parts[] | select(.ready | not)'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), streams, args[0]) },
	}
	o.from.Add(cmd.Flags())
	o.add(cmd.Flags())
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

func (o describeOptions) run(ctx context.Context, streams ui.Streams, name string) error {
	s, err := look(ctx, o.from)
	if err != nil {
		return err
	}
	defer s.close()
	key, err := s.Find(ctx, name, o.namespace)
	if err != nil {
		return err
	}
	d, err := s.Describe(ctx, key)
	if err != nil {
		return err
	}
	return ui.Output(streams.Out, o.format, d, describeTable(d, time.Now()))
}

func describeTable(d workload.Description, now time.Time) ui.Table {
	table := ui.Table{Header: []string{"KIND", "NAME", "STATE", "SINCE"}, Rows: target.Tree(d.Report, "", now, 0)}
	table.Footer = []string{fmt.Sprintf("namespace %s, made by %s, Kubernetes %s, control plane %s, workers %s", d.Namespace, d.MadeBy, cmp.Or(d.Version, "no version yet"), d.ControlPlane, d.Workers)}
	if d.Details != "" {
		table.Footer = append(table.Footer, strings.TrimPrefix(d.Details, "\n"))
	}
	return table
}
