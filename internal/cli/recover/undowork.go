package recover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
	"github.com/slipway-sh/slipway/internal/recovery/site"
	"github.com/slipway-sh/slipway/internal/recovery/undo"
	"github.com/slipway-sh/slipway/stacks"
)

// pausing is how many objects are paused at once.
const pausing = 16

// do does all parts. What a former run has done is not done again: the record on the
// management cluster says how far it came.
func (r *reversal) do(ctx context.Context) error {
	if err := r.pins.Pin(ctx, backup.HolderUndo, r.point.Backup); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.tell(fmt.Sprintf("finish this by %s: after that slipway backup prune may remove backup %s, which could not be pinned: %v", r.point.Until.UTC().Format(time.RFC3339), r.point.Backup, err))
	}
	if r.point.Replaced.IsZero() || !r.back.Empty() { // up may have begun again in between
		if err := r.part(ctx, "pause", "pausing all clusters", r.pause); err != nil {
			return err
		}
		if err := r.part(ctx, "controllers", "applying the former controllers", r.replace); err != nil {
			return err
		}
	}
	if len(r.lost) > 0 {
		if err := r.part(ctx, "restore", "restoring clusters that are gone, paused", r.restoreLost); err != nil {
			return err
		}
	} else if err := restore.Revive(ctx, r.on); err != nil {
		return err
	}
	var seen *site.Site
	defer func() {
		if seen != nil {
			seen.Close()
		}
	}()
	if err := r.part(ctx, "prove", "proving that nothing in the cloud would change", func(ctx context.Context, s *event.Step) (said string, err error) {
		seen, said, err = r.proveHeld(ctx, s)
		return said, err
	}); err != nil {
		return err
	}
	if err := r.part(ctx, "unpause", "unpausing in waves", func(ctx context.Context, s *event.Step) (string, error) { return r.letGo(ctx, seen, s) }); err != nil {
		return err
	}
	return r.part(ctx, "state", "noting the former versions", r.note)
}

// pause notes that an undo has begun, and holds all clusters.
func (r *reversal) pause(ctx context.Context, step *event.Step) (string, error) {
	if r.point.Undoing.IsZero() {
		r.point.Undoing = time.Now().UTC()
		if err := undo.WritePoint(ctx, r.on, r.point); err != nil {
			return "", err
		}
	}
	held := r.plan.Holdable()
	for n, name := range r.result.Clusters {
		step.Count(int64(n), int64(len(r.result.Clusters)), "clusters")
		if err := r.hold(ctx, held[name]); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d clusters are paused", len(r.result.Clusters)), r.hold(ctx, r.plan.Loose(nil))
}

// hold pauses objects, some at once.
func (r *reversal) hold(ctx context.Context, objects []*unstructured.Unstructured) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(pausing)
	for _, o := range objects {
		group.Go(func() error { return restore.Pause(ctx, r.on, o) })
	}
	return group.Wait()
}

// replace takes the controllers back, and looks whether they are what they were.
func (r *reversal) replace(ctx context.Context, step *event.Step) (string, error) {
	wait := func(ctx context.Context, names []types.NamespacedName, progress func(string)) error {
		return r.on.WaitAvailable(ctx, names, progress)
	}
	if err := r.back.Run(ctx, r.on, wait, step.Wait); err != nil {
		return "", err
	}
	if err := undo.Providers(ctx, r.on, r.former.Objects); err != nil {
		return "", err
	}
	now, err := r.controllersBack(ctx)
	if err != nil {
		return "", err
	}
	if !now.Empty() {
		return "", fault.New("controllers", fmt.Errorf("they are not what they were: %d objects differ, first %s", len(now.Back)+len(now.Removed), slices.Concat(now.Back, now.Removed)[0]),
			"see with kubectl what writes this object, then run the same command again")
	}
	r.point.Replaced = time.Now().UTC()
	if err := undo.WritePoint(ctx, r.on, r.point); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d objects are what they were", len(r.back.Back)), nil
}

// restoreLost restores clusters that are gone, beside those that are there.
func (r *reversal) restoreLost(ctx context.Context, step *event.Step) (string, error) {
	var all restore.Result
	err := restore.WithoutControllers(ctx, r.on, step.Wait, func(ctx context.Context) (err error) {
		for _, plan := range r.lost {
			did, failed := restore.Restorer{To: r.on, Progress: func(what string, n, total int) { step.Count(int64(n), int64(total), what) }}.Run(ctx, plan)
			all.Created, all.Kept, all.Statuses = all.Created+did.Created, all.Kept+did.Kept, all.Statuses+did.Statuses
			err = errors.Join(err, failed)
			// They are proved and released with the others.
			r.plan.Steps = append(r.plan.Steps, plan.Steps...)
		}
		return err
	})
	return fmt.Sprintf("%d objects created, %d were there, %d statuses", all.Created, all.Kept, all.Statuses), err
}

// proveHeld proves what waits. Clusters that a former run of this undo has released are at
// work, and not part of it.
func (r *reversal) proveHeld(ctx context.Context, step *event.Step) (*site.Site, string, error) {
	live, err := restore.Live(ctx, r.on, r.plan)
	if err != nil {
		return nil, "", err
	}
	r.plan = r.plan.Without(recovery.AtWork(r.plan, live))
	r.rebuild.leave = slices.Concat(r.leave, r.point.Busy)
	return r.prove(ctx, r.on, step)
}

// letGo unpauses in waves, and at last those that were changing when the undo began.
func (r *reversal) letGo(ctx context.Context, seen *site.Site, step *event.Step) (string, error) {
	said, err := r.unpause(ctx, r.on, seen, step)
	if err != nil {
		return "", err
	}
	busy := gate{restore.NewSight(r.on, r.plan), r.on, r.plan.Holdable()}
	for _, name := range r.point.Busy {
		if slices.Contains(r.leave, name) {
			continue
		}
		step.Wait("unpausing " + name + ", which was changing before")
		if err := busy.Release(ctx, name); err != nil {
			return "", err
		}
	}
	return said, r.releaseLoose(ctx, r.on, r.leave)
}

// note writes the former versions and settings into the state: what slipway up compares with.
// What says where the clusters are stays: the seed may be another one. Then all is
// undone, unless clusters were left paused.
func (r *reversal) note(ctx context.Context, _ *event.Step) (string, error) {
	steps := []string{stacks.StepManagementClusterAPI, stacks.StepManagementControllers, stacks.StepMagnum}
	n, err := r.t.Engine.Amend(ctx, r.former.State, steps, []string{"versions", "image", "slipwayVersion", "settings", "monitored", "trustBundle", "replicas", "environment", "fence", "backup"})
	if err != nil {
		return "", err
	}
	if len(r.leave) == 0 { // else a further run unpauses what was left
		r.point.Undone = time.Now().UTC()
	}
	if err := undo.WritePoint(ctx, r.on, r.point); err != nil {
		return "", err
	}
	if !r.point.Undone.IsZero() {
		if err := r.pins.Unpin(ctx, backup.HolderUndo, r.point.Backup); err != nil { // nothing else depends on it
			r.tell("slipway backup prune will keep backup " + r.point.Backup + ": " + err.Error())
		}
	}
	return fmt.Sprintf("%d resources have their former versions and settings: slipway up with this Slipway and this file changes them again", n), nil
}
