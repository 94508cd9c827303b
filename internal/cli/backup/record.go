package backup

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/slipway-sh/slipway/internal/backup/record"
	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// recorded does something with the record on the management cluster.
func recorded(ctx context.Context, loaded *config.Loaded, do func(kubernetes.Interface) error) error {
	e, err := target.Engine(loaded, event.Discard{}, nil)
	if err != nil {
		return err
	}
	cluster, leave, err := createOptions{}.reach(ctx, loaded, e)
	if err != nil {
		return err
	}
	defer leave()
	client, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		return err
	}
	return do(client)
}

// note notes the result on the management cluster. It is no failure of the drill if that
// cannot be reached: it may be lost.
func note(ctx context.Context, loaded *config.Loaded, d drilled, events event.Sink) {
	failed := d.Failed()
	if d.Error != "" {
		failed = append(failed, d.Error)
	}
	err := recorded(ctx, loaded, func(on kubernetes.Interface) error {
		return record.SaveDrill(ctx, on, record.Drill{At: time.Now().UTC(), Backup: d.Backup, Passed: d.Passed, Failed: failed, Seconds: d.RTO})
	})
	if err != nil {
		events.Emit(event.Event{Time: time.Now(), State: event.Note, Message: "the result is not noted on the management cluster: " + err.Error()})
	}
}

// due is the last drill and when the next one is due; the zero time is now.
func due(ctx context.Context, loaded *config.Loaded, now time.Time) (last record.Drill, next time.Time, err error) {
	err = recorded(ctx, loaded, func(on kubernetes.Interface) error {
		state, err := record.Load(ctx, on)
		if err == nil && state.Drill != nil {
			last = *state.Drill
		}
		return err
	})
	if err != nil {
		return last, next, fault.New("--if-due", err, "nobody can say when a drill passed last: run it without --if-due")
	}
	return last, dueAfter(loaded, last, now), nil
}

// dueAfter is when a drill is due after the last one; zero is now.
func dueAfter(loaded *config.Loaded, last record.Drill, now time.Time) time.Time {
	wanted := config.BackupDrill{}
	if b := loaded.Environment.Spec.Backup; b != nil && b.Drill != nil {
		wanted = *b.Drill
	}
	if next := wanted.Rhythm().Next(last.PassedBy(now)); last.Passed && next.After(now) {
		return next
	}
	return time.Time{}
}
