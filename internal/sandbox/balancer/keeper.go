package balancer

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/fabric"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

// keeper tells the routers which members take connections, for a load balancer that keeps the
// addresses of clients. A nil keeper tells nobody.
type keeper struct {
	ask  chan struct{}
	stop context.CancelFunc
}

// keep starts the keeper of a load balancer, which is held.
func (b *Balancers) keep(lb *balancer) *keeper {
	ctx, cancel := context.WithCancel(context.Background())
	k := &keeper{ask: make(chan struct{}, 1), stop: cancel}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-k.ask:
			}
			lb.mu.Lock()
			if ctx.Err() == nil && lb.passOn(ctx, b.network) != nil {
				time.AfterFunc(time.Second, k.changed) // again, as nobody asks for it
			}
			lb.mu.Unlock()
		}
	}()
	return k
}

// changed says that a member came or went. It never waits, because a check calls it, and whoever
// holds the load balancer may wait for that check.
func (k *keeper) changed() {
	if k == nil {
		return
	}
	select {
	case k.ask <- struct{}{}:
	default:
	}
}

// passOn tells the routers which members of a load balancer, which is held, take connections now.
func (lb *balancer) passOn(ctx context.Context, n Network) error {
	if lb.keeper == nil {
		return nil
	}
	// Floating IPs are of IPv4.
	i := slices.IndexFunc(lb.vip.Addresses, func(a machine.Address) bool { return a.Prefix.Addr().Is4() })
	if i < 0 {
		return nil
	}
	p := fabric.PassOn{NetworkID: lb.vip.NetworkID, Address: lb.vip.Addresses[i].Prefix.Addr()}
	for _, f := range lb.frontends {
		p.Ports = append(p.Ports, f.passOn())
	}
	return n.PassOn(ctx, lb.id, p)
}

// passOn returns the part of one listener: the members that would get a connection now.
func (f *frontend) passOn() fabric.PassOnPort {
	p := f.pool.Load()
	to := fabric.PassOnPort{Protocol: strings.ToLower(p.Protocol), Port: p.Port, AllowedCIDRs: p.AllowedCIDRs}
	for _, m := range p.candidates(nil) {
		if m.Address.Addr().Is4() {
			to.Members = append(to.Members, netip.AddrPortFrom(m.Address.Addr(), m.Address.Port()))
		}
	}
	return to
}
