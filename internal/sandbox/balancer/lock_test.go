package balancer_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/balancer"
	"github.com/slipway-sh/slipway/internal/sandbox/fabric"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

// late is a network whose ports come late; waits is told of each, which goes on when free is closed.
type late struct {
	balancer.Network
	waits, free chan struct{}
}

func (l late) Plug(ctx context.Context, p fabric.Plug) error {
	if p.Port.ID == port(101).ID {
		l.waits <- struct{}{}
		<-l.free
	}
	return l.Network.Plug(ctx, p)
}

// TestOneThatWaitsForItsNetwork does not keep the others from being applied, asked and deleted.
func TestOneThatWaitsForItsNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	network := late{w.fabric, make(chan struct{}, 1), make(chan struct{})}
	b := balancer.New(network, filepath.Join(w.dir, "spaces"))
	t.Cleanup(func() { w.must(b.Shutdown()) })
	done := make(chan error, 1)
	go func() { done <- b.ApplyBalancer(w.Context(), machine.Balancer{ID: "late", VIP: port(101)}) }()
	<-network.waits
	others := make(chan error, 1)
	go func() {
		err := b.ApplyBalancer(w.Context(), machine.Balancer{ID: "lb", VIP: port(100), Listeners: []machine.Listener{listener()}})
		if err == nil {
			_, err = b.MemberHealth(w.Context(), "lb")
		}
		if err == nil {
			err = b.DeleteBalancer(w.Context(), "lb")
		}
		others <- err
	}()
	select {
	case err := <-others:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("another load balancer waits for the network of this one")
	}
	close(network.free)
	w.must(<-done)
}
