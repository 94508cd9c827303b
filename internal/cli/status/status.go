// Package status is `slipway status`.
package status

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-sh/slipway/internal/backup/record"
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
are not ready, each with its cause, and what is not well inside clusters that are ready.
All clusters are asked side by side, for 8 seconds at most. The list comes from the
cloud, not from the state, so it includes what a killed run left behind.

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

// result is what status prints as data.
type result struct {
	Environment string               `json:"environment"`
	Cloud       string               `json:"cloud"`
	Resources   []openstack.Resource `json:"resources"`
	// SSH is how to log in to the seed; nil if there is none.
	SSH *target.Access `json:"ssh,omitempty"`
	// Seed is what runs on the seed; Unreachable says why that is unknown.
	Seed        []component `json:"seed,omitempty"`
	Unreachable string      `json:"unreachable,omitempty"`
	// Note says why there is no seed, if that is no fault.
	Note string `json:"note,omitempty"`
	// Clusters are the management cluster and its workload clusters.
	Clusters []cluster `json:"clusters,omitempty"`
	// Backups is how the scheduled backups and the last drill went.
	Backups record.State    `json:"backups,omitzero"`
	Drift   []engine.Change `json:"drift,omitempty"`

	shelved bool // and nothing else keeps the seed from being asked
}

func (o options) run(ctx context.Context, streams ui.Streams) error {
	t, err := target.Open(ctx, o.from, event.Discard{})
	if err != nil {
		return err
	}
	r := result{Environment: t.Name(), Cloud: t.Cloud.Name, Resources: []openstack.Resource{}}
	things, err := t.Inventory.List(ctx, t.Name())
	if err != nil {
		return err
	}
	r.Resources = append(r.Resources, things...)
	if len(things) > 0 {
		known, err := health(ctx, t, target.ShelvedSeed(things))
		r.Seed, r.Clusters, r.SSH, r.Note = known.seed, known.clusters, known.access, known.note
		if r.Backups = known.backups; t.Environment.Spec.Backup == nil || t.Environment.Spec.Backup.Schedule == nil {
			r.Backups.Schedule, r.Backups.Seed = nil, nil // of a schedule that is no more
		}
		if err != nil {
			r.Unreachable = err.Error()
			r.shelved = r.Unreachable == errShelved.Error()
		}
	}
	if o.drift {
		drift, err := t.Engine.Refresh(ctx, false)
		if err != nil {
			return err
		}
		r.Drift = drift.Changes
	}
	return ui.Output(streams.Out, o.format, r, r.table(o.wide, o.drift, time.Now()))
}

func (r result) table(wide, drift bool, now time.Time) ui.Table {
	table := ui.Table{Header: []string{"TYPE", "NAME", "STATE", "SINCE"}, Rows: r.grouped(now), Fit: ui.Terminal}
	if wide {
		table = ui.Table{Header: []string{"TYPE", "NAME", "STATE", "ID"}, Rows: r.everything(now)}
	}
	if r.Unreachable != "" && !r.shelved {
		table.Footer = append(table.Footer, "incomplete: "+r.Unreachable)
	}
	if unseen := r.unseen(); unseen != "" {
		table.Footer = append(table.Footer, unseen)
	}
	if r.Note != "" {
		table.Footer = append(table.Footer, r.Note)
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
	table.Footer = append(table.Footer, r.verdict(now))
	return table
}

// everything are the lines of the table with nothing left out.
func (r result) everything(now time.Time) [][]string {
	var lines [][]string
	for _, thing := range r.Resources {
		lines = append(lines, []string{thing.Type, thing.Name, thing.State, thing.ID})
	}
	lines = append(lines, rows(r.Seed, now)...)
	for _, c := range r.Clusters {
		lines = append(lines, target.Tree(c.Report, " (on the "+c.On+")", now, target.MostOfCause)...)
	}
	return append(lines, r.backupLines(now)...)
}
