// Package balancer runs load balancers: each has a network namespace with the port of its VIP, in
// which this process accepts connections and opens them.
package balancer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/slipway-sh/slipway/internal/sandbox/fabric"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

const prefix = "lb-"

// Network connects the port of a VIP; *fabric.Fabric is one.
type Network interface {
	Plug(ctx context.Context, p fabric.Plug) error
	Unplug(ctx context.Context, p machine.Port) error
	PassOn(ctx context.Context, id string, p fabric.PassOn) error
}

// Balancers implements machine.Balancers in this process. It balances only while the process lives.
type Balancers struct {
	network Network
	dir     string
	mu      sync.Mutex // of by; nothing is waited for while it is held
	by      map[string]*balancer
}

var _ machine.Balancers = (*Balancers)(nil)

// New returns balancers whose namespaces have their files in dir.
func New(n Network, dir string) *Balancers {
	return &Balancers{network: n, dir: dir, by: map[string]*balancer{}}
}

// balancer is one load balancer.
type balancer struct {
	id, space string

	mu sync.Mutex // held while it is changed, which waits for its network
	// plugged says that vip is in the network.
	plugged   bool
	vip       machine.Port
	frontends map[string]*frontend
	keeper    *keeper
	// gone says that the load balancer is no longer one of the balancers.
	gone bool
}

// hold returns a load balancer and locks it. Calls for other load balancers need not wait for this
// one.
func (b *Balancers) hold(id string) *balancer {
	for {
		b.mu.Lock()
		lb := b.by[id]
		if lb == nil {
			lb = &balancer{id: id, space: b.space(id), frontends: map[string]*frontend{}}
			b.by[id] = lb
		}
		b.mu.Unlock()
		lb.mu.Lock()
		if !lb.gone {
			return lb
		}
		lb.mu.Unlock() // it went while this waited for it
	}
}

// forget removes a load balancer, which is held, from the balancers.
func (b *Balancers) forget(id string, lb *balancer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	lb.gone = true
	if b.by[id] == lb {
		delete(b.by, id)
	}
}

func (b *Balancers) space(id string) string { return filepath.Join(b.dir, prefix+filepath.Base(id)) }

// ApplyBalancer changes the load balancer to what is wanted. It does not cut the connections of
// listeners that stay.
func (b *Balancers) ApplyBalancer(ctx context.Context, want machine.Balancer) error {
	lb := b.hold(want.ID)
	defer lb.mu.Unlock()
	if err := namespace.Create(lb.space); err != nil {
		return fmt.Errorf("applying load balancer %s: %w", want.ID, err)
	}
	if err := b.network.Plug(ctx, fabric.Plug{Space: lb.space, Name: "eth0", Port: want.VIP, Host: true, Wait: true}); err != nil {
		return fmt.Errorf("applying load balancer %s: %w", want.ID, err)
	}
	lb.plugged, lb.vip = true, want.VIP
	if want.KeepsClients && lb.keeper == nil {
		lb.keeper = b.keep(lb)
	}
	err := lb.apply(want.Listeners)
	if err = errors.Join(err, lb.passOn(ctx, b.network)); err != nil {
		return fmt.Errorf("applying load balancer %s: %w", want.ID, err)
	}
	return nil
}

func (lb *balancer) apply(listeners []machine.Listener) error {
	keep := map[string]bool{}
	for _, l := range listeners {
		keep[l.ID] = true
	}
	for id, f := range lb.frontends {
		if !keep[id] {
			f.close()
			delete(lb.frontends, id)
		}
	}
	var err error
	for _, l := range listeners {
		f := lb.frontends[l.ID]
		if f != nil && f.place != place(l, lb.vip) {
			f.close()
			f = nil
			delete(lb.frontends, l.ID)
		}
		if f == nil {
			var openErr error
			if f, openErr = open(lb.space, l, lb.vip, lb.keeper); openErr != nil {
				err = errors.Join(err, fmt.Errorf("listener %s: %w", l.ID, openErr))
				continue
			}
			lb.frontends[l.ID] = f
		}
		f.apply(l)
	}
	return err
}

// DeleteBalancer removes the load balancer, whether this process runs it or not.
func (b *Balancers) DeleteBalancer(ctx context.Context, id string) error {
	lb := b.hold(id)
	defer lb.mu.Unlock()
	defer b.forget(id, lb)
	lb.close()
	var err error
	if lb.keeper != nil {
		err = b.network.PassOn(ctx, id, fabric.PassOn{})
	}
	if lb.plugged {
		err = errors.Join(err, b.network.Unplug(ctx, lb.vip))
	}
	if err = errors.Join(err, namespace.Delete(lb.space)); err != nil {
		return fmt.Errorf("deleting load balancer %s: %w", id, err)
	}
	return nil
}

func (lb *balancer) close() {
	if lb.keeper != nil {
		lb.keeper.stop()
	}
	for _, f := range lb.frontends {
		f.close()
	}
}

// MemberHealth returns the results of the checks.
func (b *Balancers) MemberHealth(_ context.Context, id string) (map[string]bool, error) {
	b.mu.Lock()
	lb := b.by[id]
	b.mu.Unlock()
	health := map[string]bool{}
	if lb == nil {
		return health, nil
	}
	lb.mu.Lock()
	defer lb.mu.Unlock()
	for _, f := range lb.frontends {
		f.pool.Load().report(health)
	}
	return health, nil
}

// Close ends all connections; the namespaces stay for the next process.
func (b *Balancers) Close() error {
	b.mu.Lock()
	all := maps.Clone(b.by)
	b.mu.Unlock()
	for id, lb := range all {
		lb.mu.Lock()
		lb.close()
		b.forget(id, lb)
		lb.mu.Unlock()
	}
	return nil
}

// Shutdown ends all connections and removes the namespaces, also those of an earlier process.
func (b *Balancers) Shutdown() error {
	err := b.Close()
	entries, readErr := os.ReadDir(b.dir)
	if readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
		err = errors.Join(err, readErr)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			err = errors.Join(err, namespace.Delete(filepath.Join(b.dir, e.Name())))
		}
	}
	return err
}
