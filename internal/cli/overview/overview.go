// Package overview is what is known of an environment: its resources in the cloud, what runs
// on the seed, its clusters, and how its backups go. `slipway status` prints it, the console
// shows it.
package overview

import (
	"context"
	"fmt"
	"time"

	"github.com/slipway-sh/slipway/internal/backup/record"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// Overview is an environment at one time; its JSON form is what status prints.
type Overview struct {
	Environment string               `json:"environment"`
	Cloud       string               `json:"cloud"`
	Resources   []openstack.Resource `json:"resources"`
	// SSH is how to log in to the seed; nil if there is none.
	SSH *target.Access `json:"ssh,omitempty"`
	// Seed is what runs on the seed; Unreachable says why that is unknown.
	Seed        []Component `json:"seed,omitempty"`
	Unreachable string      `json:"unreachable,omitempty"`
	// Note says why there is no seed, if that is no fault.
	Note string `json:"note,omitempty"`
	// Clusters are the management cluster and its workload clusters.
	Clusters []Cluster `json:"clusters,omitempty"`
	// Magnum and Console are the URLs of the Magnum API and of the tenants' console; empty if
	// there is none.
	Magnum  string `json:"magnum,omitempty"`
	Console string `json:"console,omitempty"`
	// Backups is how the scheduled backups and the last drill went.
	Backups record.State    `json:"backups,omitzero"`
	Drift   []engine.Change `json:"drift,omitempty"`

	shelved bool // and nothing else keeps the seed from being asked
}

// Read asks the cloud, the seed and the management cluster. What does not answer besides the
// cloud is in Unreachable. drift also compares the cloud with the state.
func Read(ctx context.Context, from environment.Flags, drift bool) (Overview, error) {
	t, err := target.Open(ctx, from, event.Discard{})
	if err != nil {
		return Overview{}, err
	}
	r := Overview{Environment: t.Name(), Cloud: t.Cloud.Name, Resources: []openstack.Resource{}}
	all := sources{
		list: func(ctx context.Context) ([]openstack.Resource, error) { return t.Inventory.List(ctx, t.Name()) },
		seed: t.Seed,
		ask: func(ctx context.Context, seed *target.Seed, shelved bool) (facts, error) {
			return health(ctx, t, seed, shelved)
		},
	}
	things, known, unwell, err := all.survey(ctx)
	if err != nil {
		return r, err
	}
	r.Resources = append(r.Resources, things...)
	r.Seed, r.Clusters, r.SSH, r.Note = known.seed, known.clusters, known.access, known.note
	r.Magnum, r.Console = known.services.Magnum.URL, known.services.Console.URL
	if r.Backups = known.backups; t.Environment.Spec.Backup == nil || t.Environment.Spec.Backup.Schedule == nil {
		r.Backups.Schedule, r.Backups.Seed = nil, nil // of a schedule that is no more
	}
	if unwell != nil {
		r.Unreachable = unwell.Error()
		r.shelved = r.Unreachable == errShelved.Error()
	}
	if drift {
		found, err := t.Engine.Refresh(ctx, false)
		if err != nil {
			return r, err
		}
		r.Drift = found.Changes
	}
	return r, nil
}

// Table is the overview for people. wide prints a line for every resource; drift says that
// the cloud was compared with the state.
func (r Overview) Table(wide, drift bool, now time.Time) ui.Table {
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
	if r.Console != "" {
		table.Footer = append(table.Footer, "console for tenants: "+r.Console+"/")
	}
	for _, change := range r.Drift {
		for _, p := range change.Properties {
			table.Footer = append(table.Footer, fmt.Sprintf("drift: %s: %s is %s, should be %s", change.Name, p.Path, target.Value(p.New), target.Value(p.Old)))
		}
		if change.Operation == engine.Delete {
			table.Footer = append(table.Footer, "drift: "+change.Name+" is gone")
		}
	}
	if drift && len(r.Drift) == 0 {
		table.Footer = append(table.Footer, "no drift")
	}
	table.Footer = append(table.Footer, r.Verdict(now))
	return table
}

// everything are the lines of the table with nothing left out.
func (r Overview) everything(now time.Time) [][]string {
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
