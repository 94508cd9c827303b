package volume

import (
	"context"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
	"github.com/slipway-sh/slipway/internal/sandbox/transition"
)

// job is the operation under way on a snapshot or backup.
type job struct {
	pending           *transition.Pending
	project, resource string
}

// work ends the operations on what is made and deleted, but never changed.
type work[T any] struct {
	service        *service
	table          *store.Table[T]
	pending        func(T) job
	create, remove func(T) error
	end            func(v *T, status string, made bool)
}

func (w work[T]) do(ctx context.Context, id string) (time.Duration, error) {
	env := w.service.env
	var v T
	_ = env.Store.View(func(r store.Reader) error { // never fails
		v, _ = w.table.Get(r, id)
		return nil
	})
	job := w.pending(v)
	if job.pending == nil {
		return 0, nil
	}
	if wait := job.pending.At.Sub(env.Timing.Now()); wait > 0 {
		return wait, nil
	}
	deleting := job.pending.To == endDelete
	var err error
	if deleting {
		err = w.remove(v)
	} else {
		err = w.create(v)
	}
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	return 0, env.Store.Update(func(tx *store.Tx) error {
		now, ok := w.table.Get(tx, id)
		if current := w.pending(now).pending; !ok || current == nil || *current != *job.pending {
			return nil // another operation took its place meanwhile
		}
		if deleting && err == nil {
			w.table.Delete(tx, id)
			return nil
		}
		status := model.VolumeAvailable
		if err != nil {
			status = map[bool]string{true: "error_deleting", false: model.VolumeError}[deleting]
			w.service.tell(tx, job.project, job.resource, id, err)
		}
		w.table.Change(tx, id, func(v *T) { w.end(v, status, err == nil) })
		return nil
	})
}
