package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// sessions is how many sessions one connection has at once: sshd refuses more than
// MaxSessions, which is 10 if nobody changed it (sshd_config(5)).
const sessions = 8

// turns bounds the sessions of a connection. If a server takes fewer, they are as many as it
// took.
type turns struct {
	mu sync.Mutex
	// most is how many may be open; 0 means sessions.
	most, open int
	// freed is closed when one ends; nil if nobody waits.
	freed chan struct{}
}

// take waits until another session may be opened.
func (t *turns) take(ctx context.Context) error {
	for {
		t.mu.Lock()
		if t.most == 0 {
			t.most = sessions
		}
		if t.open < t.most {
			t.open++
			t.mu.Unlock()
			return nil
		}
		if t.freed == nil {
			t.freed = make(chan struct{})
		}
		freed := t.freed
		t.mu.Unlock()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-freed:
		}
	}
}

// give ends a session. refused says that the server did not open it: then no more are asked
// for than the others that are open, and others reports whether there are any.
func (t *turns) give(refused bool) (others bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open--
	if refused {
		t.most = max(1, t.open)
	}
	if t.freed != nil {
		close(t.freed)
		t.freed = nil
	}
	return t.open > 0
}

// A server may count a session a moment longer than we do: one that is refused without
// others of ours is asked for again so often.
const (
	refusals    = 5
	refusedWait = 100 * time.Millisecond
)

// session opens a session for what is being done; leave ends it. If the connection has just
// been lost, it is made again once: nothing was done in the session yet.
func (m *Machine) session(ctx context.Context, doing string) (session *ssh.Session, leave func(), err error) {
	for refused, lost := 0, false; ; {
		client, err := m.connected(ctx)
		if err != nil {
			return nil, nil, err
		}
		if err := m.turns.take(ctx); err != nil {
			return nil, nil, fmt.Errorf("%s on %s: waiting until other sessions end: %w", doing, m.name, err)
		}
		session, err := openSession(ctx, client)
		if err == nil {
			return session, sync.OnceFunc(func() { parted(ctx, func() { session.Close(); m.turns.give(false) }) }), nil
		}
		others := m.turns.give(tooMany(err))
		if cutOff(err) && !lost && ctx.Err() == nil {
			lost = true
			m.leave(client)
			continue
		}
		if !others {
			refused++
		}
		if !tooMany(err) || refused > refusals || ctx.Err() != nil {
			return nil, nil, fmt.Errorf("%s on %s: %w", doing, m.name, err)
		}
		if !others {
			time.Sleep(refusedWait)
		}
	}
}

// openSession is client.NewSession, but for a context: a machine that crashed does not answer, and
// its connection is found to be lost a minute later.
func openSession(ctx context.Context, client *ssh.Client) (*ssh.Session, error) {
	type answer struct {
		session *ssh.Session
		err     error
	}
	answered := make(chan answer, 1)
	go func() {
		session, err := client.NewSession()
		answered <- answer{session, err}
	}()
	select {
	case a := <-answered:
		return a.session, a.err
	case <-ctx.Done():
		go func() {
			if late := <-answered; late.err == nil {
				late.session.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// tooMany tells whether the server opens no more sessions now: OpenSSH's words for that are
// those for what is prohibited (session_open and channel_input_open of OpenSSH).
func tooMany(err error) bool {
	var failure *ssh.OpenChannelError
	return errors.As(err, &failure) && (failure.Reason == ssh.Prohibited || failure.Reason == ssh.ResourceShortage)
}
