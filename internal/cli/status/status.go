// Package status is `slipway status`.
package status

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

type options struct {
	from   environment.Flags
	drift  bool
	format string
}

// New returns the command.
func New(streams ui.Streams) *cobra.Command {
	o := options{format: "table"}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the resources, the clusters and the drift of the environment",
		Long: `Lists every resource in the cloud that carries the environment's ownership tag, with ID,
type, name and state; what runs on the seed; and the management cluster with its
workload clusters. Each cluster is shown with its objects, and with the cause if one is
not ready. The list comes from the cloud, not from the state, so it includes what a
killed run left behind.

With --drift it also compares the cloud with the state, and changes neither.`,
		Example: `  slipway status
  slipway status -o json | jq -r '.resources[].id'
  slipway status --drift`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), streams) },
	}
	o.from.Add(cmd.Flags())
	cmd.Flags().BoolVar(&o.drift, "drift", false, "also compare the cloud with the state")
	ui.FormatFlag(cmd.Flags(), &o.format)
	return cmd
}

// result is what status prints as data.
type result struct {
	Environment string            `json:"environment"`
	Cloud       string            `json:"cloud"`
	Resources   []openstack.Thing `json:"resources"`
	// Seed is what runs on the seed; Unreachable says why that is unknown.
	Seed        []component `json:"seed,omitempty"`
	Unreachable string      `json:"unreachable,omitempty"`
	// Clusters are the management cluster and its workload clusters.
	Clusters []cluster       `json:"clusters,omitempty"`
	Drift    []engine.Change `json:"drift,omitempty"`
}

func (o options) run(ctx context.Context, streams ui.Streams) error {
	t, err := target.Open(ctx, o.from, event.Discard{})
	if err != nil {
		return err
	}
	r := result{Environment: t.Name(), Cloud: t.Cloud.Name, Resources: []openstack.Thing{}}
	things, err := t.Inventory.List(ctx, t.Name())
	if err != nil {
		return err
	}
	r.Resources = append(r.Resources, things...)
	if len(things) > 0 {
		known, err := health(ctx, t, target.ShelvedSeed(things))
		r.Seed, r.Clusters = known.seed, known.clusters
		if err != nil {
			r.Unreachable = err.Error()
		}
	}
	if o.drift {
		drift, err := t.Engine.Refresh(ctx, false)
		if err != nil {
			return err
		}
		r.Drift = drift.Changes
	}
	return ui.Output(streams.Out, o.format, r, r.table(o.drift))
}

func (r result) table(drift bool) ui.Table {
	table := ui.Table{Header: []string{"TYPE", "NAME", "STATE", "ID"}}
	for _, thing := range r.Resources {
		table.Rows = append(table.Rows, []string{thing.Type, thing.Name, thing.State, thing.ID})
	}
	table.Rows = append(table.Rows, rows(r.Seed, time.Now())...)
	for _, c := range r.Clusters {
		table.Rows = append(table.Rows, target.Tree(c.Report, " (on the "+c.On+")", time.Now(), target.MostOfCause)...)
	}
	table.Footer = []string{fmt.Sprintf("%d resources of %s in cloud %s", len(r.Resources), r.Environment, r.Cloud)}
	if r.Unreachable != "" {
		table.Footer = append(table.Footer, "incomplete: "+r.Unreachable)
	}
	for _, change := range r.Drift {
		for _, p := range change.Properties {
			table.Footer = append(table.Footer, fmt.Sprintf("drift: %s: %s is %v, should be %v", change.Name, p.Path, p.New, p.Old))
		}
		if change.Operation == engine.Delete {
			table.Footer = append(table.Footer, "drift: "+change.Name+" is gone")
		}
	}
	if drift && len(r.Drift) == 0 {
		table.Footer = append(table.Footer, "no drift")
	}
	return table
}
