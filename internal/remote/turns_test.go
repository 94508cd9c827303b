package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestSessionsWaitForEachOther: a server that refuses more than so many sessions of one
// connection (MaxSessions of sshd) still answers all that are asked for at once.
func TestSessionsWaitForEachOther(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int32{"one": 1, "fewer than we ask for": 3, "sshd's default": 10, "any number": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var now, peak atomic.Int32
			m := newMachine(t, func(_ string, _ io.Reader, out, _ io.Writer) uint32 {
				n := now.Add(1)
				for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
				}
				time.Sleep(5 * time.Millisecond)
				now.Add(-1)
				_, _ = io.WriteString(out, "said")
				return 0
			})
			m.most = most
			c := open(t, m)
			var all sync.WaitGroup
			for range 40 {
				all.Go(func() {
					if said, err := c.Run(t.Context(), "journalctl"); err != nil || said != "said" {
						t.Errorf("%q, %v", said, err)
					}
				})
			}
			all.Wait()
			if p := peak.Load(); p > sessions || most > 0 && p > most {
				t.Errorf("%d sessions at once", p)
			}
		})
	}
}

// TestAWaitForOtherSessionsEnds with its context.
func TestAWaitForOtherSessionsEnds(t *testing.T) {
	t.Parallel()
	block := make(chan struct{})
	m := newMachine(t, func(string, io.Reader, io.Writer, io.Writer) uint32 { <-block; return 0 })
	defer close(block)
	c := open(t, m)
	c.turns.most = 1
	running := make(chan error, 1)
	go func() { _, err := c.Run(t.Context(), "sleep"); running <- err }()
	for {
		c.turns.mu.Lock()
		open := c.turns.open
		c.turns.mu.Unlock()
		if open == 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, why)
	defer cancel()
	if _, err := c.Run(ctx, "true"); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

// TestARefusedSessionIsAnError when no other is open that could end.
func TestARefusedSessionIsAnError(t *testing.T) {
	t.Parallel()
	m := newMachine(t, func(string, io.Reader, io.Writer, io.Writer) uint32 { return 0 })
	m.refuses.Store(true)
	began := time.Now()
	if _, err := open(t, m).Run(t.Context(), "true"); !tooMany(err) || time.Since(began) > 20*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}

// A connection that ended just before it is asked for something, which nobody has noticed yet,
// is made again, but not one that was closed.
func TestAConnectionThatHasJustEnded(t *testing.T) {
	t.Parallel()
	m := newMachine(t, func(string, io.Reader, io.Writer, io.Writer) uint32 { return 0 })
	for name, ask := range map[string]func(*Machine) error{
		"a program": func(c *Machine) error {
			_, err := c.Run(t.Context(), "true")
			return err
		},
		"a way": func(c *Machine) error {
			way, err := c.DialContext(t.Context(), "tcp", "127.0.0.1:6443")
			if err == nil {
				way.Close()
			}
			return err
		},
	} {
		c := open(t, m)
		before := c.client
		before.Close()
		<-c.lost
		_, _, _ = before.SendRequest("keepalive@openssh.com", false, nil) // from here on the library says that it has ended
		c.lost = make(chan struct{})
		if err := ask(c); err != nil || c.client == before {
			t.Errorf("%s: %v", name, err)
		}
		c.Close()
		if err := ask(c); !errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}
