package janitor

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// firstDelay is the pause after a first attempt; each further one without
// progress doubles it.
const firstDelay = time.Second

// pace keeps the pauses of each cluster. No worker sleeps: the queue wakes a cluster when its pause
// is over, and others continue (row F146).
type pace struct {
	longest time.Duration
	observe func(reason string, change float64)

	mu    sync.Mutex
	known map[types.NamespacedName]attempts
}

type attempts struct {
	count, left int
	reason      string
}

func newPace(longest time.Duration, observe func(string, float64)) *pace {
	return &pace{longest: longest, observe: observe, known: map[types.NamespacedName]attempts{}}
}

// next returns the pause of a cluster that has this number of resources left, for a reason.
func (p *pace) next(key types.NamespacedName, reason string, left int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, before := p.known[key]
	if !before || a.left != left || a.reason != reason {
		a.count = 0
	}
	if !before || a.reason != reason {
		if before {
			p.observe(a.reason, -1)
		}
		p.observe(reason, 1)
	}
	delay := p.longest
	if a.count < 20 { // more doublings would overflow
		delay = min(firstDelay<<a.count, p.longest)
	}
	p.known[key] = attempts{count: a.count + 1, left: left, reason: reason}
	return delay
}

// forget drops a cluster that is done.
func (p *pace) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a, ok := p.known[key]; ok {
		p.observe(a.reason, -1)
		delete(p.known, key)
	}
}

// slots bound how many workers one cloud may have at a time.
type slots struct {
	most int

	mu   sync.Mutex
	busy map[string]int
}

// enter takes a slot of a cloud, if one is free.
func (s *slots) enter(name string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[name] >= s.most {
		return nil, false
	}
	s.busy[name]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.busy[name]--; s.busy[name] == 0 {
			delete(s.busy, name)
		}
	}, true
}
