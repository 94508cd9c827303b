package cluster

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/workload"
)

type listOptions struct {
	from   environment.Flags
	format string
}

func newList(streams ui.Streams) *cobra.Command {
	o := listOptions{format: "table"}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the workload clusters, including those of the Magnum API",
		Long: `Lists all workload clusters of the management cluster, however they were created, with
the first cause if something of one is not well. It asks the cloud, once per project, and
the clusters themselves, as slipway why does, but reads no consoles. Clusters of the Magnum
API have their name there.`,
		Example: `  slipway cluster list
  slipway cluster list -o json | jq -r '.[] | select(.ready | not) | .cause'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	o.from.Add(cmd.Flags())
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

func (o listOptions) run(ctx context.Context, streams ui.Streams) error {
	s, err := look(ctx, o.from)
	if err != nil {
		return err
	}
	defer s.close()
	list, err := s.List(ctx)
	if err != nil {
		return err
	}
	return ui.Output(streams.Out, o.format, list, listTable(list, time.Now()))
}

func listTable(list []workload.Summary, now time.Time) ui.Table {
	table := ui.Table{Header: []string{"NAME", "NAMESPACE", "MADE BY", "PHASE", "VERSION", "CONTROL PLANE", "WORKERS", "AGE", "CAUSE"}, Fit: ui.Terminal}
	column := func(workload.Summary) []string { return nil }
	if slices.ContainsFunc(list, func(c workload.Summary) bool { return c.Project != nil }) {
		table.Header = slices.Insert(table.Header, 2, "PROJECT")
		column = func(c workload.Summary) []string { return []string{projectOf(c)} }
	}
	for _, c := range list {
		name, why := c.Name, cmp.Or(c.Reason, c.Cause)
		if c.Tenant != nil {
			name = c.Tenant.Name
		}
		if why != "" && table.Footer == nil {
			table.Footer = []string{"for causes in full: slipway why NAME"}
		}
		table.Rows = append(table.Rows, slices.Concat([]string{name, c.Namespace}, column(c), []string{string(c.MadeBy), c.Phase, c.Version, c.ControlPlane.String(), c.Workers.String(),
			duration.HumanDuration(now.Sub(c.Created)), why}))
	}
	if len(list) == 0 {
		table.Footer = []string{"there are no workload clusters; create one with: slipway cluster create NAME"}
	}
	return table
}

// projectOf is the project of a cluster that is not in the environment's.
func projectOf(c workload.Summary) string {
	switch {
	case c.Project != nil:
		return cmp.Or(c.Project.Name, c.Project.ID)
	case c.Tenant != nil:
		return c.Tenant.ProjectID
	}
	return ""
}
