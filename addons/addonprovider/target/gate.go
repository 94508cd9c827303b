package target

import (
	"context"
	"slices"
	"sync"
)

// gate lets a limited number through at a time. A caller who comes back goes before a new one: work
// that was begun is finished first, so that few hold what work needs, however many wait.
type gate struct {
	mu   sync.Mutex
	free int
	// back and new are the queues of those who wait, in order of arrival.
	back, new []chan struct{}
}

func newGate(places int) *gate { return &gate{free: places} }

// take waits for a place; back says that the caller had one before.
func (g *gate) take(ctx context.Context, back bool) error {
	g.mu.Lock()
	if g.free > 0 { // then nobody waits
		g.free--
		g.mu.Unlock()
		return nil
	}
	queue, called := g.queue(back), make(chan struct{})
	*queue = append(*queue, called)
	g.mu.Unlock()
	select {
	case <-called:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	at := slices.Index(*queue, called)
	if at >= 0 {
		*queue = slices.Delete(*queue, at, at+1)
	}
	g.mu.Unlock()
	if at < 0 { // called in the same moment
		g.leave()
	}
	return ctx.Err()
}

func (g *gate) queue(back bool) *[]chan struct{} {
	if back {
		return &g.back
	}
	return &g.new
}

// leave lets the next one in.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, queue := range []*[]chan struct{}{&g.back, &g.new} {
		if len(*queue) > 0 {
			close((*queue)[0])
			*queue = slices.Delete(*queue, 0, 1)
			return
		}
	}
	g.free++
}
