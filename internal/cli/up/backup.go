package up

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery/fence"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
	"github.com/slipway-sh/slipway/internal/recovery/undo"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// save makes a backup before controllers or Kubernetes are changed, if the environment has
// a place for it and a management cluster that was ready once, and notes on the management
// cluster that slipway undo can go back to it. No ID means that none was needed.
func (o options) save(ctx context.Context, t *target.Target, plan engine.Plan, progress event.Sink) (string, error) {
	if !upgrades(plan) {
		return "", nil
	}
	resources, err := t.Engine.Resources(ctx)
	if err != nil || !running(resources) {
		return "", err
	}
	if o.skipBackup || o.backup == nil || t.Environment.Spec.Backup == nil {
		return "", o.forget(ctx, t, progress)
	}
	made, err := o.backup(ctx, o.from, time.Now().Add(t.Environment.Spec.Backup.Window()), progress)
	if err == nil {
		err = note(ctx, t, made)
	}
	if err != nil {
		return "", unsaved(err)
	}
	progress.Emit(event.Event{Time: time.Now(), State: event.Note, Message: fmt.Sprintf("made backup %s before the change", made.ID)})
	return made.ID, nil
}

// unsaved is the fault of a change before which no backup could be made. That a rebuild is half
// done, or has replaced the management cluster, is no reason to leave the backup out: up would
// not finish it, and change what nobody uses.
func unsaved(err error) error {
	remedy := "fix the cause, or leave the backup out with --skip-backup"
	if errors.Is(err, restore.ErrIncomplete) || errors.Is(err, fence.ErrFenced) {
		remedy = fault.Remedy(err)
	}
	return fault.New("backup before the change", errors.Join(errors.New("nothing was changed"), err), remedy)
}

// note writes the point that an undo goes back to. One that belongs to a change that up has
// not come to the end of stays: the backup of now has half of the newer controllers.
func note(ctx context.Context, t *target.Target, made backup.Backup) error {
	return t.OnManagement(ctx, func(on *kube.Cluster) error {
		point, err := undo.ReadPoint(ctx, on)
		if err != nil || point.Open() && time.Now().Before(point.Until) {
			return err
		}
		return undo.WritePoint(ctx, on, undo.Point{Backup: made.ID, Taken: made.Taken, Until: made.KeepUntil})
	})
}

// forget notes that a change is made without a backup, so that an undo does not go back to
// one of before another change. A management cluster that does not answer keeps what it has,
// and its next look at the backup tells the difference.
func (o options) forget(ctx context.Context, t *target.Target, progress event.Sink) error {
	err := t.OnManagement(ctx, func(on *kube.Cluster) error {
		point, err := undo.ReadPoint(ctx, on)
		if err != nil || point == nil || point.Open() {
			return err
		}
		return undo.WritePoint(ctx, on, undo.Point{})
	})
	if err != nil && ctx.Err() == nil {
		progress.Emit(event.Event{Time: time.Now(), State: event.Note, Message: "slipway undo will not know of this change: " + err.Error()})
		return nil
	}
	return err
}

// complete notes that up has come to the end of a change, also of one that a former run began.
func complete(ctx context.Context, t *target.Target) error {
	if t.Environment.Spec.Backup == nil || t.Environment.Spec.ManagementCluster == nil {
		return nil
	}
	return t.OnManagement(ctx, func(on *kube.Cluster) error {
		point, err := undo.ReadPoint(ctx, on)
		if err != nil || !point.Open() {
			return err
		}
		point.Complete = time.Now().UTC()
		return undo.WritePoint(ctx, on, *point)
	})
}

// settled refuses to change anything while an undo is half done: some controllers are the
// former ones, and clusters are paused. A management cluster that does not answer says
// nothing of it: up may be what repairs it.
func settled(ctx context.Context, t *target.Target) error {
	if t.Environment.Spec.Backup == nil {
		return nil
	}
	resources, err := t.Engine.Resources(ctx)
	if err != nil || !running(resources) {
		return err
	}
	half := false
	_ = t.OnManagement(ctx, func(on *kube.Cluster) error {
		point, err := undo.ReadPoint(ctx, on)
		half = err == nil && point != nil && !point.Undoing.IsZero() && point.Undone.IsZero()
		return nil
	})
	if half {
		return fault.Usage("undo", errors.New("slipway undo is half done, and clusters are paused"), "finish it with slipway undo, which continues where it ended")
	}
	return nil
}

// running reports whether there is a management cluster that was ready once, and a seed
// through which it is reached.
func running(resources []engine.Resource) bool {
	seed, management := false, false
	for _, r := range resources {
		seed = seed || r.Name == stacks.StepSeed
		management = management || r.Name == stacks.StepManagementCluster && r.Text("adminKubeconfig") != ""
	}
	return seed && management
}

// upgrades reports whether a plan changes Kubernetes or controllers that are there.
func upgrades(plan engine.Plan) bool {
	of := []string{stacks.StepSeed, stacks.StepK3s, stacks.StepClusterAPI, stacks.StepControllers, stacks.StepManagementCluster, stacks.StepManagementClusterAPI,
		stacks.StepManagementControllers, stacks.StepManagementMove, stacks.StepMagnum}
	return slices.ContainsFunc(plan.Changes, func(c engine.Change) bool {
		return slices.Contains(of, c.Name) && slices.Contains([]engine.Operation{engine.Update, engine.Replace, engine.Delete}, c.Operation)
	})
}
