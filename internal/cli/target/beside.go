package target

import (
	"cmp"
	"context"
	"sync"

	"github.com/slipway-sh/slipway/internal/remote"
)

// beside asks questions while something else is done, all at the same time. first waits for
// them and returns the error of the first, in their order, that has one; stop ends them.
func beside(ctx context.Context, questions ...func(context.Context) error) (first func() error, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	failed := make([]error, len(questions))
	var group sync.WaitGroup
	for i, ask := range questions {
		group.Go(func() { failed[i] = ask(ctx) })
	}
	first = func() error {
		group.Wait()
		return cmp.Or(failed...)
	}
	return first, func() { cancel(); group.Wait() }
}

// connection is one to the seed that several logins share.
type connection struct {
	mu      sync.Mutex
	machine *remote.Machine
}

// KeepSeed has the seeds of this target log in once, until release: on a slow machine a login
// takes seconds. The seed must be the same meanwhile.
func (t *Target) KeepSeed() (release func()) {
	kept := &connection{}
	t.kept = kept
	return func() {
		t.kept = nil
		kept.mu.Lock()
		defer kept.mu.Unlock()
		if kept.machine != nil {
			kept.machine.Close()
		}
	}
}

// login opens the connection, or shares it with whoever opened it. Nil shares nothing.
func (c *connection) login(open func() (*remote.Machine, error)) (*remote.Machine, error) {
	if c == nil {
		return open()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.machine == nil {
		m, err := open()
		if err != nil {
			return nil, err
		}
		c.machine = m
	}
	return c.machine.Share(), nil
}
