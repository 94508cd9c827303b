package console

import (
	"context"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/console/frame"
	"github.com/slipway-sh/slipway/internal/console/words"
)

// Plan is what up would do now.
type Plan struct {
	// Summary counts the changes in one line.
	Summary words.Text
	Changes []Change
	// Foreseen is false if there is nothing that could be replaced: no change, or no management
	// cluster yet.
	Foreseen bool
	// Replaced are the machines that go, by cluster and group.
	Replaced []Replacement
	// Others are what else is replaced or gets another version: the seed, controllers.
	Others []words.Text
	// Meanwhile is what is needed of the quotas while machines are replaced, Takes how long
	// that takes.
	Meanwhile []string
	Takes     string
	// Unknown is what could not be looked at.
	Unknown []string
	// Obstacles are why up would refuse now.
	Obstacles []Obstacle
}

// Change is what would happen to one resource.
type Change struct {
	// Operation is "create", "update", "replace" or "delete".
	Operation, Name, Kind string
	Properties            []Property
}

// Property is one input that differs.
type Property struct {
	Path, Old, New string
	// Replaces says that this is why the resource cannot stay.
	Replaces bool
}

// Replacement are machines of a cluster, or of one of its groups, that go.
type Replacement struct {
	Name words.Text
	// Level is 0 for a cluster, 1 for a group of the one before.
	Level              int
	Machines, Replaced int
	// AtMost says that it may be fewer.
	AtMost bool
	// Why is why they are replaced, or why none is; Versions are those that change.
	Why      words.Text
	Versions []words.Text
}

// Obstacle is why something is refused, and what to do.
type Obstacle struct{ Why, Fix string }

// Health is the shape of an operation.
func (c Change) Health() Health {
	switch c.Operation {
	case "delete":
		return Broken
	case "create": // it is not there yet
		return Unknown
	}
	return Changing
}

// Word is the operation for people.
func (c Change) Word() words.Text {
	switch c.Operation {
	case "create":
		return words.T("create")
	case "update":
		return words.T("update")
	case "replace":
		return words.T("replace")
	case "delete":
		return words.T("delete")
	}
	return words.Said(c.Operation)
}

// Health is that of the machines: those that go are missing for a while.
func (r Replacement) Health() Health {
	if r.Replaced > 0 {
		return Changing
	}
	return Well
}

// Count is how many machines go.
func (r Replacement) Count() words.Text {
	if r.AtMost {
		return words.T("at most %d of %d", r.Replaced, r.Machines)
	}
	return words.T("%d of %d", r.Replaced, r.Machines)
}

// Health is whether up would change nothing, something, or refuse.
func (p Plan) Health() Health {
	switch {
	case len(p.Obstacles) > 0:
		return Broken
	case len(p.Changes) > 0:
		return Changing
	}
	return Well
}

// planned is a plan, and what makes it old.
type planned struct {
	frame.Reading[Plan]
	// Beside is the run that is going on: no plan is read beside it.
	Beside *Run
	// Newer is a run that began after the plan was read, or ended.
	Newer *Run
}

// plan is read when the page is opened for the first time, and when somebody asks, but not
// beside a run: the engine takes no lock for a plan, and would tell one of what is half done.
func (s *Server) plan(ctx context.Context, _ frame.Look) frame.View {
	runs := s.runs.Look(ctx)
	v := frame.View{Title: words.T("Plan"), Trouble: frame.Troubles(words.T("the log of runs"), runs)}
	d := planned{Reading: s.plans.Last(), Beside: first(runs.Value, func(r Run) bool { return r.Outcome == "running" })}
	if d.Beside == nil && runs.Known() && runs.Err == nil {
		d.Reading = s.plans.Look(ctx)
	}
	v.Trouble = append(v.Trouble, frame.Troubles(words.T("the plan"), d.Reading)...)
	v.Loading = !d.Known() && d.Err == nil && d.Beside == nil && runs.Err == nil
	if d.Known() {
		d.Newer = first(runs.Value, func(r Run) bool { return r.since(d.At) })
	}
	if d.Known() || d.Beside != nil {
		v.Data = d
	}
	return v
}

// since reports whether the run began or ended after a time.
func (r Run) since(at time.Time) bool { return r.Started.After(at) || r.Ended.After(at) }

// first is the first run that suits; nil if none does.
func first(runs []Run, suits func(Run) bool) *Run {
	if i := slices.IndexFunc(runs, suits); i >= 0 {
		return &runs[i]
	}
	return nil
}
