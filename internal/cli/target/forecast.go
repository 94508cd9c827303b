package target

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/forecast"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/internal/runlog"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
)

// lookTime bounds how long the management cluster and its parent are asked for a forecast,
// each: a plan must not wait for what does not answer.
const lookTime = 30 * time.Second

// formerRuns is how many runs of the log are looked at for how long things take, readAtOnce
// of how many the events are read at the same time.
const (
	formerRuns = 50
	readAtOnce = 16
)

// foreseer makes one forecast.
type foreseer struct {
	t         *Target
	program   stacks.Environment
	plan      engine.Plan
	resources map[string]engine.Resource
	seed      *Seed
	forecast.Forecast
}

// Forecast says what a plan would replace, nil if there is no management cluster that was
// ready once or nothing would change. What cannot be looked at is told, and is no error.
func (t *Target) Forecast(ctx context.Context, program stacks.Environment, plan engine.Plan, quota []preflight.Need) (*forecast.Forecast, error) {
	if plan.Empty() || program.Config.Spec.ManagementCluster == nil {
		return nil, nil
	}
	defer t.KeepSeed()()
	list, err := t.Engine.Resources(ctx)
	if err != nil {
		return nil, err
	}
	f := &foreseer{t: t, program: program, plan: plan, resources: map[string]engine.Resource{},
		Forecast: forecast.Forecast{Clusters: []forecast.Cluster{}, Controllers: []forecast.Controller{}, Surge: []forecast.Need{}}}
	for _, r := range list {
		f.resources[r.Name] = r
	}
	if f.seed, err = t.Seed(ctx); err != nil || f.seed.Management == "" {
		return nil, nil //nolint:nilerr // nothing is there that could be replaced
	}
	f.seedServer()
	f.controllers()
	var former []forecast.Run
	read, stop := beside(ctx, func(ctx context.Context) error { former = f.runs(ctx); return nil })
	defer stop()
	if err := f.clusters(ctx); err != nil {
		return nil, err
	}
	_ = read() // without a log there are none
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f.surge(quota)
	own, tenants := f.Replaced()
	f.Duration = forecast.Take(own+tenants, former, stacks.StepManagementCluster, stacks.StepManagementReady)
	return &f.Forecast, nil
}

// change is what the plan does to a step; nil is nothing.
func (f *foreseer) change(step string) *engine.Change {
	at := slices.IndexFunc(f.plan.Changes, func(c engine.Change) bool { return c.Name == step })
	if at < 0 {
		return nil
	}
	return &f.plan.Changes[at]
}

func (f *foreseer) seedServer() {
	c := f.change(stacks.StepSeed)
	if c == nil || c.Operation != engine.Replace {
		return
	}
	var why []string
	for _, p := range c.Properties {
		if p.Replaces {
			why = append(why, p.Path)
		}
	}
	f.Seed = "what differs: " + cmp.Or(strings.Join(why, ", "), "its image")
	if f.change(stacks.StepImage) != nil {
		f.Seed = "it gets another image"
	}
}

// controllers compares the versions in the state with those of the program.
func (f *foreseer) controllers() {
	add := func(on, name, from, to string) {
		if from != to {
			f.Controllers = append(f.Controllers, forecast.Controller{On: on, Name: name, Versions: forecast.Versions{From: from, To: to}})
		}
	}
	if f.change(stacks.StepK3s) != nil {
		add("seed", "k3s", f.resources[stacks.StepK3s].Text("release"), f.program.Equipment.Versions.K3s)
	}
	const onSeed, onManagement = "seed", "management cluster"
	wanted := kubernetes.ProviderVersions(f.program.Equipment.Versions)
	for _, one := range []struct{ on, step string }{{onSeed, stacks.StepClusterAPI}, {onManagement, stacks.StepManagementClusterAPI}} {
		if f.change(one.step) == nil {
			continue
		}
		was, _ := f.resources[one.step].Outputs["versions"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(wanted)) {
			from, _ := was[name].(string)
			add(one.on, name, from, wanted[name])
		}
	}
	for _, one := range []struct{ on, step, name string }{{onSeed, stacks.StepControllers, "addon provider and janitor"},
		{onManagement, stacks.StepManagementControllers, "addon provider and janitor"}, {onManagement, stacks.StepMagnum, "Magnum API"},
		{onManagement, stacks.StepConsole, "tenants' console"}} {
		if c := f.change(one.step); c != nil && c.Operation != engine.Delete {
			add(one.on, one.name, imageTag(f.resources[one.step].Text("image")), imageTag(f.program.Equipment.ControllersImage))
		}
	}
}

// imageTag is the last part of a reference.
func imageTag(reference string) string {
	reference = reference[strings.LastIndex(reference, "/")+1:]
	if _, tag, found := strings.Cut(reference, ":"); found {
		return tag
	}
	return reference
}

// surge is what preflight found to be needed while machines are replaced, if any are.
func (f *foreseer) surge(quota []preflight.Need) {
	if own, _ := f.Replaced(); own == 0 {
		return
	}
	for _, n := range quota {
		if n.Surge > 0 {
			left := -1
			if n.Limit >= 0 {
				left = max(0, n.Limit-n.Used)
			}
			f.Surge = append(f.Surge, forecast.Need{Resource: words(n.Resource), Need: n.Surge, Left: left})
		}
	}
}

// words are the units of a quota for people.
func words(resource string) string {
	if unit, known := map[string]string{"ram": "MiB of memory", "gigabytes": "GiB of volumes"}[resource]; known {
		return unit
	}
	return resource
}

// runs are former runs of up with their events, the newest first. Without a log there are
// none.
func (f *foreseer) runs(ctx context.Context) (all []forecast.Run) {
	store, leave, err := runlog.Open(ctx, f.t.LogURL())
	if err != nil {
		return nil
	}
	defer leave() //nolint:errcheck // it was read
	records, err := runlog.List(ctx, store, f.t.Name(), formerRuns)
	if err != nil && len(records) == 0 {
		return nil
	}
	for _, r := range records {
		if strings.HasPrefix(r.Command, "slipway up") && r.Outcome == runlog.Succeeded {
			all = append(all, forecast.Run{ID: r.ID})
		}
	}
	var group errgroup.Group
	group.SetLimit(readAtOnce)
	for i := range all {
		group.Go(func() error { all[i].Events = runlog.Events(ctx, store, f.t.Name(), all[i].ID); return nil })
	}
	_ = group.Wait() // events that cannot be read are none
	return all
}

// Fits is an error if a forecast needs more than a quota has, and the check quota is not
// skipped. Without a forecast nothing is replaced.
func Fits(f *forecast.Forecast, skip []string) error {
	if f == nil || slices.Contains(skip, "quota") {
		return nil
	}
	return f.Fits()
}

// WriteForecast prints a forecast as text; nil prints nothing.
func WriteForecast(w io.Writer, f *forecast.Forecast) {
	if f == nil {
		return
	}
	fmt.Fprintln(w, strings.Join(f.Lines(), "\n"))
}
