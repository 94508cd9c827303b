package recover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/diagnosis"
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
	// Diagnosis is what is lost and what is done about it; empty with --cluster.
	Diagnosis diagnosis.Verdict `json:"diagnosis,omitzero"`
	// Absent are clusters of the backup that the management cluster does not have.
	Absent []string `json:"absent,omitempty"`
	// Datastore is the copy of the seed's datastore that there is.
	Datastore *Datastore `json:"datastore,omitempty"`
}

// rebuild is one run.
type rebuild struct {
	options
	t        *target.Target
	progress event.Sink
	snapshot *snapshot.Snapshot
	// datastore is nil if no backup has a copy of the seed's.
	datastore *Datastore
	// pins are of where the backup is.
	pins Pins
	plan *recovery.Plan
	// found are live objects of others, among them those that the cluster of --cluster needs.
	found  []*unstructured.Unstructured
	result result
	// halfway is the backup of a rebuild that is half done, if one was read that was made in the
	// middle of it.
	halfway string
	// clouds are asked why machines do not come.
	clouds *look.Cache
	// running are the versions of the controllers, where they are not those of the bundle.
	running map[string]string
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
	r := &rebuild{options: o, progress: progress, clouds: look.NewCache(time.Now).Every(cloudEvery)}
	if r.t, err = target.Open(ctx, o.environment, progress); err != nil {
		return err
	}
	if err := r.decide(ctx, source, wanted, began); err != nil {
		finish()
		r.result.tell(streams.Err)
		return err
	}
	if o.dry || r.result.Diagnosis.Repair == diagnosis.Nothing {
		finish()
		r.result.DryRun = o.dry
		return ui.Output(streams.Out, o.format, r.result, r.result.table())
	}
	if o.yes {
		var said strings.Builder
		r.result.tell(&said)
		for line := range strings.Lines(said.String()) {
			progress.Emit(event.Event{Time: time.Now(), State: event.Note, Message: strings.TrimRight(line, "\n")})
		}
	} else {
		finish()
		r.result.summary(streams.Err)
		if err := target.Confirm(ctx, streams, r.question()); err != nil {
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
	do := r.work
	if r.partial() {
		do = r.repair
	}
	failed := do(ctx)
	finish()
	r.result.RTO = time.Since(began).Seconds()
	if len(r.result.Checks) == 0 && !r.partial() {
		return failed
	}
	return errors.Join(failed, ui.Output(streams.Out, o.format, r.result, r.result.table()))
}

// decide finds out what is to be done: with --cluster, what of the backup; else what the
// diagnosis says. The backup is needed only for some of it.
func (r *rebuild) decide(ctx context.Context, source Source, wanted Wanted, now time.Time) error {
	noBackup := errNoIdentity()
	if len(wanted.Identities) > 0 {
		noBackup = r.read(ctx, source, wanted, now)
	}
	r.result.Environment = r.t.Name()
	if r.result.Checks == nil {
		r.result.Checks, r.result.Waves, r.result.Clusters = []recovery.Check{}, []recovery.Wave{}, []string{}
	}
	if r.cluster != "" {
		return noBackup
	}
	verdict, err := r.diagnose(ctx)
	r.result.Diagnosis = verdict
	if err == nil && r.halfway != "" {
		if noBackup = r.goOn(ctx, source, wanted, now); noBackup == nil {
			r.result.Diagnosis = verdict
		}
	}
	switch verdict.Repair {
	case diagnosis.Rebuild, diagnosis.Datastore, diagnosis.Snapshot:
		return errors.Join(err, noBackup)
	case diagnosis.Nothing:
		if noBackup == nil && err == nil {
			if !r.dry { // a rebuild was killed at its very end, or somebody finished it with slipway up
				r.letOthersGo(ctx, "")
			}
			r.result.Absent, err = r.absent(ctx)
		}
	}
	return err
}

// goOn reads the backup from which a former run began the rebuild, instead of one that was made
// in the middle of it.
func (r *rebuild) goOn(ctx context.Context, source Source, wanted Wanted, now time.Time) error {
	if !wanted.At.IsZero() {
		return fault.Usage("--at "+r.at, fmt.Errorf("backup %s was made in the middle of the rebuild from backup %s", r.result.Backup, r.halfway), "leave the flag out: the rebuild continues")
	}
	r.progress.Emit(event.Event{Time: time.Now(), State: event.Note, Message: fmt.Sprintf("backup %s was made in the middle of the rebuild from backup %s, which continues", r.result.Backup, r.halfway)})
	wanted.ID = r.halfway
	return r.read(ctx, source, wanted, now)
}

// partial reports whether the repair is not the rebuild, nor of one cluster.
func (r *rebuild) partial() bool {
	return r.cluster == "" && r.result.Diagnosis.Repair != diagnosis.Rebuild
}

func (r *rebuild) question() string {
	if r.partial() {
		return "do this?"
	}
	return "restore this backup?"
}

// read reads the backup and makes the plan. Nothing is changed.
func (r *rebuild) read(ctx context.Context, source Source, wanted Wanted, now time.Time) error {
	step := event.Start(r.progress, "backup", "reading the backup")
	found, err := source(ctx, r.t.Loaded, wanted)
	id, s := found.ID, found.Snapshot
	if err == nil && s.Environment != r.t.Name() {
		err = fault.Usage("backup "+id, fmt.Errorf("it is of environment %s, not of %s", s.Environment, r.t.Name()), "name the right target with --from, or the right environment file with -f")
	}
	if err == nil {
		r.snapshot, r.datastore, r.pins = s, found.Datastore, found.Pins
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
	if found.Note != "" {
		r.progress.Emit(event.Event{Time: time.Now(), State: event.Note, Message: found.Note})
	}
	step.End(fmt.Sprintf("%d objects, %d clusters, taken %s", r.plan.Objects(), len(clusters), since(s.Taken, now)), nil)
	r.result = result{Environment: r.t.Name(), Backup: id, Taken: s.Taken, Objects: r.plan.Objects(), Clusters: clusters, Skipped: len(r.plan.Skipped),
		Datastore: r.datastore, Generation: s.Generation + 1, Waves: recovery.Waves(r.plan, r.leave), Checks: []recovery.Check{}, RPO: now.Sub(s.Taken).Seconds()}
	return nil
}

// tell tells what stops nothing.
func (r *rebuild) tell(text string) {
	r.progress.Emit(event.Event{Time: time.Now(), State: event.Note, Message: text})
}

// part does one part and notes how long it took.
func (r *rebuild) part(ctx context.Context, name, doing string, do func(context.Context, *event.Step) (string, error)) error {
	step := event.Start(r.progress, name, doing)
	done, err := do(ctx, step)
	step.End(done, err)
	r.result.Parts = append(r.result.Parts, Part{name, step.Elapsed().Seconds()})
	return err
}
