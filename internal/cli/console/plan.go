package console

import (
	"context"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/internal/console/words"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/forecast"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// Plan is what slipway plan prints.
func (s *sources) Plan(ctx context.Context) (console.Plan, error) {
	if s.loaded == nil {
		return console.Plan{}, s.missing
	}
	t, err := target.Open(ctx, s.from, event.Discard{})
	if err != nil {
		return console.Plan{}, err
	}
	defer t.Cloud.Close()
	outlook, err := t.Outlook(ctx, nil)
	if err != nil {
		return console.Plan{}, err
	}
	return plan(outlook), nil
}

// plan is an outlook as the console shows it.
func plan(o target.Outlook) console.Plan {
	p := console.Plan{Summary: summary(o.Plan)}
	for _, c := range o.Changes {
		one := console.Change{Operation: string(c.Operation), Name: c.Name, Kind: target.Kind(c.Type)}
		for _, property := range c.Properties {
			one.Properties = append(one.Properties, console.Property{Path: property.Path, Old: target.Value(property.Old), New: target.Value(property.New), Replaces: property.Replaces})
		}
		p.Changes = append(p.Changes, one)
	}
	for _, err := range append(fault.All(o.Shelved), fault.All(target.Fits(o.Forecast, nil))...) {
		p.Obstacles = append(p.Obstacles, console.Obstacle{Why: err.Error(), Fix: fault.Remedy(err)})
	}
	if o.Forecast != nil {
		foresee(&p, *o.Forecast)
	}
	return p
}

// summary counts the changes, as slipway plan does.
func summary(p engine.Plan) words.Text {
	if p.Empty() {
		return words.T("no changes, %d unchanged", p.Counts[engine.Same])
	}
	var all []words.Text
	add := func(o engine.Operation, text func(n int) words.Text) {
		if n := p.Counts[o]; n > 0 {
			all = append(all, text(n))
		}
	}
	add(engine.Create, func(n int) words.Text { return words.T("%d to create", n) })
	add(engine.Update, func(n int) words.Text { return words.T("%d to update", n) })
	add(engine.Replace, func(n int) words.Text { return words.T("%d to replace", n) })
	add(engine.Delete, func(n int) words.Text { return words.T("%d to delete", n) })
	return words.List(", ", append(all, words.T("%d unchanged", p.Counts[engine.Same]))...)
}

// foresee adds what is replaced.
func foresee(p *console.Plan, f forecast.Forecast) {
	p.Foreseen, p.Unknown, p.Replaced = true, f.Unknown, replacements(f.Clusters)
	if f.Seed != "" {
		p.Others = append(p.Others, words.T("the seed: its server, on the same data; %s", f.Seed))
	}
	for _, c := range f.Controllers {
		p.Others = append(p.Others, words.T("on the %s: %s %s", c.On, c.Name, c.Versions.String()))
	}
	for _, n := range f.Surge {
		p.Meanwhile = append(p.Meanwhile, n.String())
	}
	if own, tenants := f.Replaced(); own+tenants > 0 {
		p.Takes = f.Duration.String()
	}
}

// mostReplaced is how many workload clusters of which something is to be said have a line of
// their own.
const mostReplaced = 50

// replacements are the management cluster with its groups, workload clusters of which something
// is replaced or changing, and the others in one line.
func replacements(clusters []forecast.Cluster) (rows []console.Replacement) {
	rest := console.Replacement{Why: words.Said(forecast.Kept)}
	others, told := 0, 0
	for _, c := range clusters {
		if !c.Management && (c.Replaced == 0 && c.Reason == forecast.Kept || told == mostReplaced) {
			others++
			rest.Machines, rest.Replaced = rest.Machines+c.Machines, rest.Replaced+c.Replaced
			continue
		}
		row := console.Replacement{Name: words.Said(c.Name), Machines: c.Machines, Replaced: c.Replaced, AtMost: c.AtMost, Why: words.Said(c.Reason)}
		if c.Management {
			row.Name = words.T("management cluster %s", c.Name)
		} else {
			told++
		}
		if c.Kubernetes != nil {
			row.Versions = append(row.Versions, words.Said("Kubernetes "+c.Kubernetes.String()))
		}
		if c.Image != nil {
			row.Versions = append(row.Versions, words.T("image %s", c.Image.String()))
		}
		rows = append(rows, row)
		for _, g := range c.Groups {
			rows = append(rows, console.Replacement{Name: words.Said(g.Name), Level: 1, Machines: g.Machines, Replaced: g.Replaced, Why: words.Said(g.Reason)})
		}
	}
	if others > 0 {
		rest.Name = words.T("%d other workload clusters", others)
		if told == 0 {
			rest.Name = words.T("%d workload clusters", others)
		}
		if rest.Replaced > 0 {
			rest.Why = words.T("see all of them with slipway plan -o json")
		}
		rows = append(rows, rest)
	}
	return rows
}
