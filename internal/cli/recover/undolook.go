package recover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/capture"
	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/cli/environment"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
	"github.com/slipway-sh/slipway/internal/recovery/site"
	"github.com/slipway-sh/slipway/internal/recovery/undo"
)

// decide finds out what is undone and what cannot be. Nothing is changed. leave closes the
// connection, also after an error.
func (r *reversal) decide(ctx context.Context, source Source, wanted Wanted, now time.Time) (leave func(), err error) {
	leave = func() {}
	r.result = undoResult{Environment: r.t.Name(), Clusters: []string{}, Restored: []string{}, Deleted: []string{}, Made: []string{}, Busy: []string{}, Stays: []string{},
		Checks: []recovery.Check{}, Waves: []recovery.Wave{}, Parts: []Part{}}
	seed, err := r.t.Seed(ctx)
	if err != nil {
		return leave, err
	}
	if seed.Management == "" {
		return leave, (*undo.Point)(nil).Check(now)
	}
	config, leave, err := seed.Reach(ctx, seed.Management)
	if err != nil {
		return func() {}, err
	}
	if r.on, err = kube.New(config); err != nil {
		return leave, err
	}
	point, err := undo.ReadPoint(ctx, r.on)
	if err == nil {
		err = point.Check(now)
	}
	if err != nil {
		return leave, err
	}
	r.point = *point
	r.result.Backup, r.result.Taken, r.result.Until, r.result.Undone = point.Backup, point.Taken, point.Until, point.Undone
	if !point.Undone.IsZero() {
		return leave, nil
	}
	if len(wanted.Identities) == 0 { // asked for only if there is something to undo
		return leave, errNoIdentity()
	}
	wanted.ID = point.Backup
	if err := r.read(ctx, source, wanted, now); err != nil {
		return leave, err
	}
	r.former = r.snapshot
	r.cluster = "all" // from here on it is about what is there, as a restore of one cluster is
	if len(r.former.Applied) == 0 {
		return leave, errNothingApplied(point.Backup)
	}
	return leave, r.survey(ctx, config)
}

// survey compares the backup with what is there.
func (r *reversal) survey(ctx context.Context, config *rest.Config) error {
	step := event.Start(r.progress, "look", "comparing the management cluster with the backup")
	said, err := r.compare(ctx, config, step)
	step.End(said, err)
	return err
}

func (r *reversal) compare(ctx context.Context, config *rest.Config, step *event.Step) (string, error) {
	var err error
	if r.back, err = r.controllersBack(ctx); err != nil {
		return "", err
	}
	former := r.plan
	var groups []string
	if b := r.t.Environment.Spec.Backup; b != nil { // it may have been removed since
		groups = b.Groups
	}
	if r.snapshot, err = present(ctx, config, groups); err != nil {
		return "", err
	}
	is := r.snapshot.Kubernetes
	r.snapshot.Environment, r.snapshot.Controllers = r.former.Environment, r.former.Controllers
	r.running = r.former.Controllers
	if r.plan, err = recovery.NewPlan(r.snapshot, recovery.Scope{}); err != nil {
		return "", err
	}
	r.result.Controllers, r.result.Clusters = r.back, orEmpty(r.plan.Clusters())
	was := former.Clusters()
	for _, name := range r.leave {
		if !slices.Contains(r.result.Clusters, name) {
			return "", fault.Usage("--leave "+name, errors.New("there is no such cluster"), "give it as namespace/name; slipway undo --dry-run lists them")
		}
	}
	own := "default/" + r.t.Name()
	for _, name := range r.result.Clusters {
		if !slices.Contains(was, name) && name != own {
			r.result.Made = append(r.result.Made, name)
		}
	}
	if r.point.Undoing.IsZero() {
		if r.point.Busy, err = r.busy(ctx, step); err != nil {
			return "", err
		}
	}
	r.result.Busy = orEmpty(r.point.Busy)
	for _, name := range was {
		if !slices.Contains(r.result.Clusters, name) || r.unproved(name) {
			if err := r.gone(ctx, name, step); err != nil {
				return "", err
			}
		}
	}
	r.result.Nothing = r.back.Empty() && len(r.lost) == 0 && r.point.Undoing.IsZero()
	r.stays(r.former.Kubernetes, is)
	return fmt.Sprintf("%d objects of controllers differ, %d clusters", len(r.back.Back)+len(r.back.Removed), len(r.result.Clusters)), nil
}

// unproved reports whether a cluster is one that an earlier run of this undo restores: half
// of it may be there.
func (r *reversal) unproved(name string) bool {
	for _, o := range r.plan.Holdable()[name] {
		if recovery.Held(o) && o.GetAnnotations()[recovery.AnnotationUID] != "" && !r.point.Undoing.IsZero() {
			return true
		}
	}
	return false
}

// controllersBack is the plan for the controllers.
func (r *reversal) controllersBack(ctx context.Context) (*undo.Plan, error) {
	was, err := undo.Decode(r.former.Applied)
	if err != nil {
		return nil, err
	}
	now, err := undo.Read(ctx, r.on)
	if err != nil {
		return nil, err
	}
	definitions, err := undo.Definitions(ctx, r.on)
	if err != nil {
		return nil, err
	}
	return undo.NewPlan(was, now, definitions)
}

// objects are a sink that keeps everything.
type objects struct{ all []*unstructured.Unstructured }

// Begin implements capture.Sink.
func (o *objects) Begin(context.Context) error { o.all = nil; return nil }

// Add implements capture.Sink.
func (o *objects) Add(_ context.Context, one backup.Object) error {
	u := &unstructured.Unstructured{}
	err := u.UnmarshalJSON(one.JSON)
	o.all = append(o.all, u)
	return err
}

// present is what a backup of now would have, without the cloud.
func present(ctx context.Context, config *rest.Config, groups []string) (*snapshot.Snapshot, error) {
	into := &objects{}
	read, err := capture.Read(ctx, config, capture.Options{Groups: groups}, into)
	if err != nil {
		return nil, err
	}
	return &snapshot.Snapshot{Taken: read.Ended, Revision: read.Revision, Kubernetes: read.Kubernetes, Objects: into.all}, nil
}

// telling are the checks whose findings are of clusters that are changing, or of which the
// cloud says nothing.
func telling() []string {
	return []string{"owners", "references", "cloud", "machines", "resources", "decision", "releases"}
}

// busy are the clusters that fail a proof now, while nothing is paused: what is wrong with
// them is not the undo's doing, and they must not stop the others.
func (r *reversal) busy(ctx context.Context, step *event.Step) ([]string, error) {
	live := slices.Concat(r.plan.Steps...)
	seen, err := site.Open(ctx, recovery.Logins(r.plan, live), environment.UserAgent(), func(n, total int) { step.Count(int64(n), int64(total), "clusters") })
	if err != nil {
		return nil, err
	}
	defer seen.Close()
	found := map[string]bool{}
	for _, c := range recovery.Prove(recovery.Evidence{Snapshot: r.snapshot, Plan: r.plan, Live: live, Cloud: seen.Cloud(), Controllers: r.running, Now: time.Now()}) {
		if c.State != recovery.Refuted || !slices.Contains(telling(), c.ID) {
			continue
		}
		for _, f := range c.Findings {
			if f.Cluster != "" {
				found[f.Cluster] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// gone looks at a cluster of the backup that is not there: if all its servers run, it was
// lost by mistake and comes back; else its owner deleted it.
func (r *reversal) gone(ctx context.Context, name string, step *event.Step) error {
	plan, err := recovery.NewPlan(r.former, recovery.Scope{Cluster: name})
	if err != nil {
		return err
	}
	step.Run("looking for the servers of " + name)
	found, err := restore.Find(ctx, r.on, plan)
	if err != nil {
		return err
	}
	seen, err := site.Open(ctx, recovery.Logins(plan, slices.Concat(slices.Concat(plan.Steps...), found)), environment.UserAgent(), func(int, int) {})
	if err != nil {
		return err
	}
	defer seen.Close()
	if recovery.Err(serverChecks(r.former, plan, seen.Cloud())) != nil {
		r.result.Deleted = append(r.result.Deleted, name)
		return nil
	}
	r.result.Restored, r.lost = append(r.result.Restored, name), append(r.lost, plan)
	return nil
}

// stays collects what cannot be undone.
func (r *reversal) stays(was, is string) {
	add := func(format string, args ...any) {
		r.result.Stays = append(r.result.Stays, fmt.Sprintf(format, args...))
	}
	if was != is {
		add("Kubernetes of the management cluster stays %s (it was %s): Kubernetes cannot be downgraded", is, was)
	}
	add("the management cluster's machines and their image stay")
	if !r.t.Environment.Spec.Seed.IsLocal() {
		add("the seed stays, with its k3s and its controllers: they manage the machines of the management cluster only")
	}
	for _, k := range r.back.Kept {
		add("%s stays: %s", k.Object, k.Reason)
	}
	add("objects of workload clusters stay as they are now, with all that their owners changed since %s", r.former.Taken.UTC().Format(time.RFC3339))
	if n := len(r.result.Made); n > 0 {
		add("clusters that were made since stay: %s", strings.Join(r.result.Made, ", "))
	}
	if n := len(r.result.Deleted); n > 0 {
		add("clusters whose servers are gone stay deleted: %s", strings.Join(r.result.Deleted, ", "))
	}
	add("logins in Secrets of the controllers stay as they are now: up may have revoked the former ones")
}
