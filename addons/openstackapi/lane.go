package openstackapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	// ReadsAtOnce and WritesAtOnce are how many requests an API serves at a time unless told
	// otherwise. kube-apiserver has 400 and 200 for --max-requests-inflight and
	// --max-mutating-requests-inflight; a request here is several there and in the cloud.
	ReadsAtOnce, WritesAtOnce = 128, 64
	// QueueTime is how long a request then waits until others are done. Clients wait longer.
	QueueTime = 5 * time.Second
)

// Lanes bound how many requests are served at a time, reads and writes apart. Without a bound, a
// server that gets more requests than it can serve takes longer for each, until clients give up and
// ask again, and it serves nobody. One project has half of the places at most, so that others are
// served. They are safe for concurrent use.
type Lanes struct{ reads, writes *lane }

// NewLanes makes them with so many places for reads and for writes; wait is how long a request waits
// for one. A value of 0 is the default above.
func NewLanes(reads, writes int, wait time.Duration) *Lanes {
	wait = cmp.Or(wait, QueueTime)
	return &Lanes{newLane("reads", cmp.Or(reads, ReadsAtOnce), wait), newLane("writes", cmp.Or(writes, WritesAtOnce), wait)}
}

// Enter waits for a place for a request of a project, and returns what gives it back. Without one
// in time the error is an answer: 503, to try again. If the request ends before, the error is that
// of its context.
func (l *Lanes) Enter(r *http.Request, project string) (leave func(), err error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return l.reads.enter(r.Context(), project)
	}
	return l.writes.enter(r.Context(), project)
}

// lane has places for requests of one kind.
type lane struct {
	what   string
	places chan struct{}
	wait   time.Duration

	mu sync.Mutex
	// projects are those with a request that is served or waits.
	projects map[string]*share
}

// share is what one project may have of a lane.
type share struct {
	places   chan struct{}
	requests int
}

func newLane(what string, places int, wait time.Duration) *lane {
	return &lane{what: what, places: make(chan struct{}, places), wait: wait, projects: map[string]*share{}}
}

// enter waits for a place, and returns what gives it back. Without one in time the client is to
// try again; ctx ends the wait when the client goes.
func (l *lane) enter(ctx context.Context, project string) (leave func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, l.wait)
	defer cancel()
	own := l.join(project)
	if !take(waiting, own.places) {
		l.quit(project, own)
		return nil, l.refused(ctx, project)
	}
	if !take(waiting, l.places) {
		<-own.places
		l.quit(project, own)
		return nil, l.refused(ctx, project)
	}
	return func() {
		<-l.places
		<-own.places
		l.quit(project, own)
	}, nil
}

// refused is why a request got no place: its client went, or the time is over.
func (l *lane) refused(ctx context.Context, project string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return Away(fmt.Sprintf("the server is busy with other %s", l.what),
		fmt.Errorf("no place for a request of project %q within %s", project, l.wait))
}

// take takes a place, unless ctx ends before there is one.
func take(ctx context.Context, places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *lane) join(project string) *share {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.projects[project]
	if own == nil {
		own = &share{places: make(chan struct{}, (cap(l.places)+1)/2)}
		l.projects[project] = own
	}
	own.requests++
	return own
}

func (l *lane) quit(project string, own *share) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own.requests--; own.requests == 0 {
		delete(l.projects, project)
	}
}
