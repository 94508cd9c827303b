package recover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/ui"
	"github.com/slipway-sh/slipway/stacks"
)

// Part is how long a part took.
type Part struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// result is what recover prints as data.
type result struct {
	Environment string    `json:"environment"`
	Backup      string    `json:"backup"`
	Taken       time.Time `json:"taken"`
	Generation  int       `json:"generation"`
	DryRun      bool      `json:"dryRun,omitempty"`
	Objects     int       `json:"objects"`
	Clusters    []string  `json:"clusters"`
	Skipped     int       `json:"skipped"`
	// Checks are the proofs, as of the last time they were run.
	Checks []recovery.Check `json:"checks"`
	Waves  []recovery.Wave  `json:"waves"`
	// RPO is the age of the backup when recover began, RTO the time of all parts, both
	// in seconds.
	RPO   float64 `json:"rpoSeconds"`
	RTO   float64 `json:"rtoSeconds"`
	Parts []Part  `json:"parts"`
}

// rebuild is one run.
type rebuild struct {
	options
	t        *target.Target
	progress event.Sink
	snapshot *snapshot.Snapshot
	plan     *recovery.Plan
	result   result
}

func (o options) run(ctx context.Context, streams ui.Streams, source Source) error {
	began := time.Now()
	wanted, err := o.wanted()
	if err != nil {
		return err
	}
	progress, err := ui.NewProgress(o.progress, streams)
	if err != nil {
		return err
	}
	finish := sync.OnceFunc(func() { progress.Close() })
	defer finish()
	r := &rebuild{options: o, progress: progress}
	if r.t, err = target.Open(ctx, o.environment, progress); err != nil {
		return err
	}
	if r.t.Environment.Spec.Seed.IsLocal() {
		return fault.Usage("spec.seed.provider: kind", errors.New("a backup can be restored only through a seed server"),
			"in an empty folder, use a copy of the environment file with spec.seed.provider: openstack; the environment has a seed server from then on")
	}
	if err := r.read(ctx, source, wanted, began); err != nil {
		return err
	}
	if o.dry {
		finish()
		r.result.DryRun = true
		return ui.Output(streams.Out, o.format, r.result, r.result.table())
	}
	if !o.yes {
		finish()
		r.result.summary(streams.Err)
		if err := target.Confirm(streams, "restore this backup?"); err != nil {
			return err
		}
		if progress, err = ui.NewProgress(o.progress, streams); err != nil {
			return err
		}
		finish = sync.OnceFunc(func() { progress.Close() })
		r.progress = progress
		if r.t, err = target.Open(ctx, o.environment, progress); err != nil {
			return err
		}
	}
	failed := r.work(ctx)
	finish()
	r.result.RTO = time.Since(began).Seconds()
	if len(r.result.Checks) == 0 {
		return failed
	}
	return errors.Join(failed, ui.Output(streams.Out, o.format, r.result, r.result.table()))
}

// read reads the backup and makes the plan. Nothing is changed.
func (r *rebuild) read(ctx context.Context, source Source, wanted Wanted, now time.Time) error {
	step := event.Start(r.progress, "backup", "reading the backup")
	id, s, err := source(ctx, r.t.Loaded, wanted)
	if err == nil && s.Environment != r.t.Name() {
		err = fault.Usage("backup "+id, fmt.Errorf("it is of environment %s, not of %s", s.Environment, r.t.Name()), "name the right target with --from, or the right environment file with -f")
	}
	if err == nil {
		r.snapshot = s
		r.plan, err = recovery.NewPlan(s, recovery.Scope{Own: stacks.ManagementNamespace + "/" + r.t.Name(), Cluster: r.cluster})
		if err != nil && r.cluster != "" && fault.Remedy(err) == "" {
			err = fault.Usage("--cluster "+r.cluster, err, "see what a backup has with slipway backup show")
		}
	}
	if err != nil {
		step.End("", err)
		return err
	}
	clusters := r.plan.Clusters()
	for _, name := range r.leave {
		if !slices.Contains(clusters, name) {
			return fault.Usage("--leave "+name, errors.New("the backup has no such cluster"), "give it as namespace/name; slipway recover --dry-run lists them")
		}
	}
	step.End(fmt.Sprintf("%d objects, %d clusters, taken %s", r.plan.Objects(), len(clusters), since(s.Taken, now)), nil)
	r.result = result{Environment: r.t.Name(), Backup: id, Taken: s.Taken, Objects: r.plan.Objects(), Clusters: clusters, Skipped: len(r.plan.Skipped),
		Generation: s.Generation + 1, Waves: recovery.Waves(r.plan, r.leave), Checks: []recovery.Check{}, RPO: now.Sub(s.Taken).Seconds()}
	return nil
}

// part does one part and notes how long it took.
func (r *rebuild) part(ctx context.Context, name, doing string, do func(context.Context, *event.Step) (string, error)) error {
	step := event.Start(r.progress, name, doing)
	done, err := do(ctx, step)
	step.End(done, err)
	r.result.Parts = append(r.result.Parts, Part{name, step.Elapsed().Seconds()})
	return err
}
