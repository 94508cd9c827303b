package remote

import (
	"context"
	"io"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// parting is how long a machine may take to end a session whose context has ended. One that is
// gone never does, and its connection is found to be lost minutes later.
const parting = 2 * time.Second

// within does what uses a session, until the context ends.
func within(ctx context.Context, session *ssh.Session, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	go session.Close() // it waits for room in the connection
	select {
	case err := <-done:
		return err
	case <-time.After(parting):
		return context.Cause(ctx)
	}
}

// parted closes a session: at once, or on its own if the context has ended.
func parted(ctx context.Context, closing func()) {
	if ctx.Err() != nil {
		go closing()
		return
	}
	closing()
}

// gate is where the output of a session goes until it is shut: what a session writes that
// nobody waits for any more goes nowhere.
type gate struct {
	mu   sync.Mutex
	to   io.Writer
	shut bool
}

// gated returns nil for nil.
func gated(to io.Writer) (w io.Writer, shut func()) {
	if to == nil {
		return nil, func() {}
	}
	g := &gate{to: to}
	return g, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.shut = true
	}
}

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return 0, io.ErrClosedPipe
	}
	return g.to.Write(p)
}
