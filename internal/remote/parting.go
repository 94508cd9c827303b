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

// within does what uses a session, until the context ends; nothing is written to the session's
// streams after it.
func within(ctx context.Context, session *ssh.Session, do func() error) error {
	for _, stream := range []*io.Writer{&session.Stdout, &session.Stderr} {
		if *stream == nil {
			continue
		}
		g := &gate{to: *stream}
		*stream = g
		defer g.close()
	}
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

// gate is where the output of a session goes until it is closed: what a session writes that
// nobody waits for any more goes nowhere.
type gate struct {
	mu     sync.Mutex
	to     io.Writer
	closed bool
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return 0, io.ErrClosedPipe
	}
	return g.to.Write(p)
}
