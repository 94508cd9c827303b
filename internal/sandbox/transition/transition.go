// Package transition makes operations take time as a cloud's do: a record
// says what it will become and when, and becomes it then, also when the
// process was stopped in between.
package transition

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/reconcile"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// Pending is kept in a record while an operation on it is under way.
type Pending struct {
	// To names what happens at the end: a status, or a word that the service
	// chose ("ACTIVE", "deleted").
	To string `json:"to"`
	// At is when that is.
	At time.Time `json:"at"`
}

// Timing is how long operations take.
type Timing struct {
	Clock clock.WithTicker
	// Factor multiplies the usual time; 0 makes everything immediate.
	Factor float64
}

// Now is the time by the clock, in UTC and whole microseconds as OpenStack's
// databases keep it.
func (t Timing) Now() time.Time { return t.Clock.Now().UTC().Truncate(time.Microsecond) }

// Start returns what to keep in a record for an operation that usually takes
// so long in a cloud.
func (t Timing) Start(to string, usual time.Duration) *Pending {
	return &Pending{To: to, At: t.Now().Add(time.Duration(float64(usual) * t.Factor))}
}

// Table says how the records of one table end their operations.
type Table[T any] struct {
	Name    string
	Store   *store.Store
	Records *store.Table[T]
	// Pending returns the operation under way on a record, nil when none is.
	Pending func(T) *Pending
	// End puts what the record becomes, with no or another Pending, or
	// deletes it.
	End func(tx *store.Tx, record T, to string) error
}

// Run ends operations when their time has come, until the context ends.
func Run[T any](ctx context.Context, t Timing, events event.Sink, table Table[T]) {
	reconcile.Loop{
		Name: table.Name, Feed: table.Records.Subscribe(), Clock: t.Clock, Events: events,
		Work: func(_ context.Context, id string) (time.Duration, error) {
			var wait time.Duration
			due := false
			err := table.Store.View(func(r store.Reader) error {
				_, wait, due = table.due(r, id, t.Now())
				return nil
			})
			if err != nil || !due {
				return wait, err
			}
			return 0, table.Store.Update(func(tx *store.Tx) error {
				record, _, due := table.due(tx, id, t.Now())
				if !due {
					return nil // it changed between the two looks, and comes again
				}
				return table.End(tx, record, table.Pending(record).To)
			})
		},
	}.Run(ctx)
}

// due reports whether the operation on a record has come to its end, and how
// long it still takes if not.
func (table Table[T]) due(r store.Reader, id string, now time.Time) (record T, wait time.Duration, due bool) {
	record, ok := table.Records.Get(r, id)
	if !ok {
		return record, 0, false
	}
	pending := table.Pending(record)
	if pending == nil {
		return record, 0, false
	}
	wait = pending.At.Sub(now)
	return record, max(wait, 0), wait <= 0
}
