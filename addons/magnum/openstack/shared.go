package openstack

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
)

// callTime bounds one call.
const callTime = 20 * time.Second

// shared makes equal questions of one token into one call: those that come
// while a call is under way wait for the next, so that no answer is older than
// its question.
type shared struct {
	mu      sync.Mutex
	running map[string]*flight
}

// flight is a call that one or more wait for.
type flight struct {
	ask   func() (any, error)
	ended chan struct{}
	value any
	err   error
	next  *flight
}

// ask asks the cloud, or waits for one that asks the same. The call belongs to
// all who wait for it and does not end when one of them goes.
func ask[T any](ctx context.Context, c *Cloud, t *keystone.Token, question string, call func(context.Context) (T, error)) (T, error) {
	f := c.shared.join(fmt.Sprintf("%s %s", t.ID, question), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
		defer cancel()
		return call(ctx)
	})
	select {
	case <-ctx.Done():
		var none T
		return none, failed(question, ctx.Err())
	case <-f.ended:
		return f.value.(T), f.err
	}
}

func (s *shared) join(key string, ask func() (any, error)) *flight {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &flight{ask: ask, ended: make(chan struct{})}
	running, ok := s.running[key]
	if !ok {
		if s.running == nil {
			s.running = map[string]*flight{}
		}
		s.running[key] = f
		go s.run(key, f)
		return f
	}
	if running.next == nil {
		running.next = f
	}
	return running.next
}

// pause is how long after the begin of a call the next begins, so that a burst
// of creations asks a cloud that answers at once 40 times a second, and not for
// each.
const pause = 25 * time.Millisecond

func (s *shared) run(key string, f *flight) {
	for f != nil {
		next := time.Now().Add(pause)
		f.value, f.err = f.ask()
		close(f.ended)
		time.Sleep(time.Until(next))
		f = s.follow(key, f)
	}
}

// follow puts the call after f in its place, if someone waits for one: who comes
// from here on waits for yet another.
func (s *shared) follow(key string, f *flight) *flight {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.next == nil {
		delete(s.running, key)
	} else {
		s.running[key] = f.next
	}
	return f.next
}
