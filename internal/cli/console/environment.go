package console

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/cli/overview"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/cli/vault"
	"github.com/slipway-sh/slipway/internal/clusterapi"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/internal/console/words"
)

// Environment is what slipway status prints.
func (s *sources) Environment(ctx context.Context) (console.Environment, error) {
	if s.loaded == nil {
		return console.Environment{}, s.missing
	}
	o, err := overview.Read(ctx, s.from, false)
	if err != nil {
		return console.Environment{}, err
	}
	s.mu.Lock()
	s.overview, s.read = o, time.Now()
	s.mu.Unlock()
	return tree(o, time.Now()), nil
}

// tree is an overview as the console shows it.
func tree(o overview.Overview, now time.Time) console.Environment {
	e := console.Environment{Name: o.Environment, Cloud: o.Cloud, Verdict: verdict(o, now), Health: console.Broken, Note: note(o)}
	if o.Well(now) {
		e.Health = console.Well
	}
	if len(o.Resources) == 0 {
		e.Health = console.Unknown
		return e
	}
	resources := console.Group{Title: words.T("In the cloud")}
	for _, r := range o.Resources {
		resources.Rows = append(resources.Rows, console.Row{Kind: r.Type, Name: r.Name, State: r.State, Health: health(overview.Judge(r))})
	}
	seed := console.Group{Title: words.T("On the seed")}
	for _, c := range o.Seed {
		row := console.Row{Kind: c.Kind, Name: c.Name, State: c.State, Since: c.Since, Health: console.Broken}
		if c.Ready {
			row.Health = console.Well
		}
		seed.Rows = append(seed.Rows, row)
	}
	e.Groups = append(e.Groups, resources)
	if o.Note != target.NoSeed {
		e.Groups = append(e.Groups, seed)
	}
	e.Groups = append(e.Groups, console.Group{Title: words.T("Clusters"), Rows: clusterRows(o.Clusters)})
	return e
}

// verdict is the one of slipway status, in the reader's language but for the cause and its fix.
func verdict(o overview.Overview, now time.Time) words.Text {
	resources, clusters := words.T("%d resources", len(o.Resources)), words.T("%d clusters", len(o.Clusters))
	switch cause, fix := o.Trouble(now); {
	case len(o.Resources) == 0:
		return words.T("Cloud %s has nothing of %s. Run slipway up to create it.", o.Cloud, o.Environment)
	case cause != "":
		return words.T("Not all is well: %s. %s.", strings.TrimSuffix(cause, "."), fix)
	case o.Shelved():
		return words.T("All that can be checked is well. The seed is shelved: wake it with slipway seed wake.")
	case o.Note == target.NoSeed:
		return words.T("All is well: %s, %s.", resources, clusters)
	}
	return words.T("All is well: %s, %s on the seed, %s.", resources, words.T("%d Deployments", o.Deployments()), clusters)
}

// note is what the overview has left out.
func note(o overview.Overview) words.Text {
	switch {
	case o.Unreachable != "":
		return words.T("Incomplete: %s.", o.Unreachable)
	case o.Note == target.NoSeed:
		return words.T("no seed: the management cluster manages itself")
	}
	return words.Said(o.Note)
}

const (
	// mostReady is how many clusters that are ready have a line of their own.
	mostReady = 20
	// mostIll is how many of the others are shown with their objects, mostObjects with how many
	// of them.
	mostIll     = 10
	mostObjects = 25
)

// clusterRows are a line for each cluster that is ready, and the objects of the others, up to a
// number of each.
func clusterRows(clusters []overview.Cluster) (rows []console.Row) {
	ready, ill := 0, 0
	for _, c := range clusters {
		if !c.Ready() {
			if ill++; ill <= mostIll {
				rows = append(rows, some(parts(c.Report, c.On))...)
			}
			continue
		}
		if ready++; ready <= mostReady {
			rows = append(rows, console.Row{Kind: "Cluster", Name: c.Name, Label: on(c.Name, c.On), Word: words.T("control plane %s, workers %s", c.ControlPlane.String(), c.Workers.String()), Health: console.Well, Since: c.Created})
		}
	}
	if more := ill - mostIll; more > 0 {
		rows = append(rows, console.Row{Kind: "Cluster", Label: words.T("%d more: see Clusters", more), Word: words.T("not ready"), Health: console.Broken})
	}
	if more := ready - mostReady; more > 0 {
		rows = append(rows, console.Row{Kind: "Cluster", Label: words.T("%d more", more), State: "Available", Health: console.Well})
	}
	return rows
}

// on is the name of a cluster with where its objects are: on the management cluster or the seed.
func on(name, where string) words.Text { return words.T("%s (on the %s)", name, where) }

// some are the first objects of a cluster; how many more there are is in the last row.
func some(objects []console.Row) []console.Row {
	more := len(objects) - mostObjects
	if more <= 0 {
		return objects
	}
	return append(objects[:mostObjects], console.Row{Label: words.T("%d more objects: see the cluster's page", more), Word: words.T("not shown"), Health: console.Unknown, Level: 1})
}

// parts are the objects of a cluster; where, if it is not empty, follows its own name.
func parts(r clusterapi.Report, where string) (rows []console.Row) {
	for _, p := range r.Parts {
		row := console.Row{Kind: p.Kind, Name: p.Name, State: p.State, Cause: p.Cause, Level: p.Level, Since: p.Since, Health: console.Well}
		if p.Level == 0 && where != "" {
			row.Label = on(p.Name, where)
		}
		if !p.Ready {
			row.Health = console.Changing
		}
		if !p.Ready && p.Cause != "" {
			row.Health = console.Broken
		}
		rows = append(rows, row)
	}
	return rows
}

func health(c overview.Condition) console.Health {
	switch c {
	case overview.Well:
		return console.Well
	case overview.Changing:
		return console.Changing
	}
	return console.Broken
}

// recent is how old an overview may be from which backups are told.
const recent = time.Minute

// Backups are what slipway status and slipway backup list say of them. What cannot be read of
// one does not hide the other.
func (s *sources) Backups(ctx context.Context) (console.Backups, error) {
	if s.loaded == nil {
		return console.Backups{}, s.missing
	}
	var b console.Backups
	s.mu.Lock()
	known := time.Since(s.read) < recent
	s.mu.Unlock()
	if !known {
		if _, err := s.Environment(ctx); err != nil {
			b.Note = words.T("How schedule and drills go is not known: %s.", err.Error())
		}
	}
	s.mu.Lock()
	for _, line := range s.overview.BackupLines(time.Now()) {
		b.Watch = append(b.Watch, console.Row{Kind: line.What, Name: line.Backup, State: line.State, Since: line.Last, Health: health(line.Condition)})
	}
	s.mu.Unlock()
	if s.loaded.Environment.Spec.Backup == nil {
		b.Note = words.T("The environment file has no spec.backup, so there is nothing to list.")
		return b, nil
	}
	var err error
	b.List, err = s.stored(ctx)
	return b, err
}

// stored are the backups at the target, those of the management cluster and the seed's, the
// newest first.
func (s *sources) stored(ctx context.Context) ([]console.Backup, error) {
	var all []console.Backup
	for of, open := range map[string]opener{"management": vault.Open, "seed": vault.OpenSeed} {
		repository, err := open(ctx, s.loaded, "")
		if err != nil {
			return nil, err
		}
		found, err := repository.List(ctx)
		if err != nil {
			return nil, err
		}
		for _, b := range found {
			all = append(all, console.Backup{ID: b.ID, Of: of, Slipway: b.Slipway, Kubernetes: b.Kubernetes, Taken: b.Taken, Objects: b.Objects, Bytes: b.Written, Damage: b.Damage})
		}
	}
	slices.SortStableFunc(all, func(a, b console.Backup) int { return cmp.Compare(b.ID, a.ID) })
	return all, nil
}

type opener = func(context.Context, *config.Loaded, string) (*backup.Repository, error)
