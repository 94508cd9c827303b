package ui

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
)

// remindEvery is how often running steps repeat their state: the reader of a log
// must see at least every 30 seconds that work continues (row F34). A line that
// was printed less than plainEvery before is not repeated.
const remindEvery = 20 * time.Second

// reminder is progress for logs and programs, which otherwise show only changes.
type reminder struct {
	Progress
	mu       sync.Mutex
	underWay map[string]event.Event // the last event of each step
	stop     chan struct{}
	once     sync.Once
}

func reminding(p Progress) Progress {
	r := &reminder{Progress: p, underWay: map[string]event.Event{}, stop: make(chan struct{})}
	go r.run()
	return r
}

func (r *reminder) run() {
	tick := time.NewTicker(remindEvery)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			r.remind(now)
		case <-r.stop:
			return
		}
	}
}

func (r *reminder) remind(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, step := range slices.Sorted(maps.Keys(r.underWay)) {
		e := r.underWay[step]
		e.Time = now
		if e.State == event.Started {
			e.State = event.Running
		}
		r.Progress.Emit(e)
	}
}

// Emit passes the event on and remembers it while its step is running.
func (r *reminder) Emit(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.State {
	case event.Started, event.Running, event.Waiting:
		r.underWay[e.Step] = e
	case event.Done, event.Failed, event.Skipped:
		delete(r.underWay, e.Step)
	}
	r.Progress.Emit(e)
}

// Close stops the reminders.
func (r *reminder) Close() {
	r.once.Do(func() { close(r.stop) })
	r.Progress.Close()
}
