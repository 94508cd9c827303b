// Package reconcile runs the loops that make the world follow the model:
// machines, networks and load balancers, and operations that take time.
package reconcile

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// Work looks at one record by its id, which may be gone, and does what is to
// be done. It is called again after the time it returns, if that is not 0,
// after an error with a growing delay, and whenever the record changes. It
// never runs twice at a time for one id.
type Work func(ctx context.Context, id string) (again time.Duration, err error)

// Loop is a reconciler of one table.
type Loop struct {
	// Name is told with errors ("servers").
	Name string
	// Feed is table.Subscribe(); Run closes it.
	Feed *store.Feed
	Work Work
	// Workers is how many ids are worked on at a time; 0 means 1.
	Workers int
	Clock   clock.WithTicker
	Events  event.Sink
}

// Run works until the context ends, and returns when all work has returned.
func (l Loop) Run(ctx context.Context) {
	defer l.Feed.Close()
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 30*time.Second),
		workqueue.TypedRateLimitingQueueConfig[string]{Clock: l.Clock})
	var workers sync.WaitGroup
	for range max(1, l.Workers) {
		workers.Go(func() {
			for l.step(ctx, queue) {
			}
		})
	}
	for {
		id, err := l.Feed.Next(ctx)
		if err != nil {
			break
		}
		queue.Add(id)
	}
	queue.ShutDown()
	workers.Wait()
}

func (l Loop) step(ctx context.Context, queue workqueue.TypedRateLimitingInterface[string]) bool {
	id, shutdown := queue.Get()
	if shutdown || ctx.Err() != nil {
		return false
	}
	defer queue.Done(id)
	again, err := l.Work(ctx, id)
	switch {
	case err != nil && errors.Is(err, ctx.Err()):
	case err != nil:
		l.Events.Emit(event.Event{Time: l.Clock.Now(), State: event.Failed, Step: l.Name, Error: id + ": " + err.Error()})
		queue.AddRateLimited(id)
	default:
		queue.Forget(id)
		if again > 0 {
			queue.AddAfter(id, again)
		}
	}
	return true
}
