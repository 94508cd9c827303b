package source

import (
	"context"
	"slices"
	"sync"
)

// queue gives recipes their turn: a number of them at once, one of a group at a time, and of
// those that could be made the one with the first rank.
type queue struct {
	// settled is called once, when all recipes of the build have been looked at. It may be nil.
	settled func()

	mu   sync.Mutex
	free int
	// looked is how many recipes are still looked at. Nobody gets a turn meanwhile: a light
	// recipe that asks first must not keep a heavy one waiting.
	looked  int
	open    bool
	busy    map[string]bool
	waiting []*waiter
}

// waiter is a recipe that waits for its turn.
type waiter struct {
	group string
	rank  rank
	turn  chan struct{}
}

func newQueue(jobs int) *queue {
	return &queue{free: jobs, busy: map[string]bool{}}
}

// look announces recipes that are looked at. Each ends in known or in wait.
func (q *queue) look(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.looked += n
}

// known says that a recipe needs no turn now.
func (q *queue) known() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.looked--
	q.dispatch()
}

// wait blocks a recipe until its turn, which it ends with done.
func (q *queue) wait(ctx context.Context, group string, r rank) (done func(), err error) {
	w := &waiter{group: group, rank: r, turn: make(chan struct{})}
	q.mu.Lock()
	q.looked--
	q.waiting = append(q.waiting, w)
	q.dispatch()
	q.mu.Unlock()
	select {
	case <-w.turn:
		return func() { q.end(group) }, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	before := len(q.waiting)
	q.waiting = slices.DeleteFunc(q.waiting, func(other *waiter) bool { return other == w })
	if len(q.waiting) == before { // its turn came at the same moment
		q.release(group)
	}
	return nil, context.Cause(ctx)
}

func (q *queue) end(group string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.release(group)
}

func (q *queue) release(group string) {
	q.free++
	delete(q.busy, group)
	q.dispatch()
}

// dispatch gives free places away, under the lock.
func (q *queue) dispatch() {
	if q.looked > 0 {
		return
	}
	if !q.open && q.settled != nil {
		q.settled()
	}
	q.open = true
	for q.free > 0 {
		var next *waiter
		for _, w := range q.waiting {
			if !q.busy[w.group] && (next == nil || w.rank.before(next.rank)) {
				next = w
			}
		}
		if next == nil {
			return
		}
		q.waiting = slices.DeleteFunc(q.waiting, func(other *waiter) bool { return other == next })
		q.free--
		if next.group != "" {
			q.busy[next.group] = true
		}
		close(next.turn)
	}
}
