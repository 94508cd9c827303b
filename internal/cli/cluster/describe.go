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
has a cause. The cloud and the cluster itself are asked too, as slipway why does, so a load
balancer in ERROR, a server without a host or a pod without its image is named at once.
For the object that the others wait for, conditions and recent
events follow. slipway why shows causes with their evidence and what to do.

NAME is the name of the cluster or, for a cluster of the Magnum API, its name or UUID
there.`,
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
	s, key, err := o.find(ctx, look, o.from, name)
	if err != nil {
		return err
	}
	defer s.close()
	d, err := s.Describe(ctx, key)
	if err != nil {
		return err
	}
	return ui.Output(streams.Out, o.format, d, describeTable(d, time.Now()))
}

func describeTable(d workload.Description, now time.Time) ui.Table {
	table := ui.Table{Header: []string{"KIND", "NAME", "STATE", "SINCE"}, Rows: target.Tree(d.Report, "", now, 0)}
	table.Footer = []string{fmt.Sprintf("namespace %s, made by %s, Kubernetes %s, control plane %s, workers %s", d.Namespace, d.MadeBy, cmp.Or(d.Version, "no version yet"), d.ControlPlane, d.Workers)}
	if d.Tenant != nil {
		table.Footer = append(table.Footer, fmt.Sprintf("in the Magnum API: %s, UUID %s, of project %s", d.Tenant.Name, d.Tenant.UUID, d.Tenant.ProjectID))
	}
	if d.Project != nil {
		table.Footer = append(table.Footer, "in project "+d.Project.String())
	}
	for _, f := range d.Findings {
		table.Footer = append(table.Footer, "cause: "+f.Line()+" ["+f.Reason+"]", "  fix: "+f.Fix)
	}
	if d.Details != "" {
		table.Footer = append(table.Footer, strings.TrimPrefix(d.Details, "\n"))
	}
	return table
}
