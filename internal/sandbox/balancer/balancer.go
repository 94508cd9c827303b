// Package balancer runs load balancers: each has a network namespace with the
// port of its VIP, and this process accepts and connects in there.
package balancer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/slipway-sh/slipway/internal/sandbox/fabric"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

const prefix = "lb-"

// Network is what carries the port of a VIP; *fabric.Fabric is one.
type Network interface {
	Plug(ctx context.Context, p fabric.Plug) error
	Unplug(ctx context.Context, p machine.Port) error
}

// Balancers is machine.Balancers in this process. It balances only while the
// process lives.
type Balancers struct {
	network Network
	dir     string
	mu      sync.Mutex
	by      map[string]*balancer
}

var _ machine.Balancers = (*Balancers)(nil)

// New returns balancers whose namespaces have their names in dir.
func New(n Network, dir string) *Balancers {
	return &Balancers{network: n, dir: dir, by: map[string]*balancer{}}
}

// balancer is one load balancer.
type balancer struct {
	space     string
	vip       machine.Port
	frontends map[string]*frontend
}

func (b *Balancers) space(id string) string { return filepath.Join(b.dir, prefix+filepath.Base(id)) }

// ApplyBalancer makes the load balancer what it is to be. Connections of what
// stays are not cut.
func (b *Balancers) ApplyBalancer(ctx context.Context, want machine.Balancer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	space := b.space(want.ID)
	if err := namespace.Create(space); err != nil {
		return fmt.Errorf("applying load balancer %s: %w", want.ID, err)
	}
	if err := b.network.Plug(ctx, fabric.Plug{Space: space, Name: "eth0", Port: want.VIP, Host: true, Wait: true}); err != nil {
		return fmt.Errorf("applying load balancer %s: %w", want.ID, err)
	}
	lb := b.by[want.ID]
	if lb == nil {
		lb = &balancer{space: space, frontends: map[string]*frontend{}}
		b.by[want.ID] = lb
	}
	lb.vip = want.VIP
	if err := lb.apply(want.Listeners); err != nil {
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
			if f, openErr = open(lb.space, l, lb.vip); openErr != nil {
				err = errors.Join(err, fmt.Errorf("listener %s: %w", l.ID, openErr))
				continue
			}
			lb.frontends[l.ID] = f
		}
		f.apply(l)
	}
	return err
}

// DeleteBalancer ends the load balancer, whether this process runs it or not.
func (b *Balancers) DeleteBalancer(ctx context.Context, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var err error
	if lb := b.by[id]; lb != nil {
		lb.close()
		err = b.network.Unplug(ctx, lb.vip)
		delete(b.by, id)
	}
	if err = errors.Join(err, namespace.Delete(b.space(id))); err != nil {
		return fmt.Errorf("deleting load balancer %s: %w", id, err)
	}
	return nil
}

func (lb *balancer) close() {
	for _, f := range lb.frontends {
		f.close()
	}
}

// MemberHealth returns the results of the checks.
func (b *Balancers) MemberHealth(_ context.Context, id string) (map[string]bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	health := map[string]bool{}
	if lb := b.by[id]; lb != nil {
		for _, f := range lb.frontends {
			f.pool.Load().report(health)
		}
	}
	return health, nil
}

// Close ends all connections; the namespaces stay for the next process.
func (b *Balancers) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, lb := range b.by {
		lb.close()
	}
	clear(b.by)
	return nil
}

// Shutdown also removes the namespaces, those of an earlier process too.
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
