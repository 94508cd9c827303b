package balancer

import (
	"context"
	"hash/fnv"
	"net/netip"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

// pool has the settings and the members of a listener. It does not change: another pool replaces
// it.
type pool struct {
	machine.Listener
	members []*member
	cancel  context.CancelFunc
	checks  sync.WaitGroup

	mu sync.Mutex // of the members' credit
}

// member is a backend. Its history is handed on to the next pool.
type member struct {
	machine.Member
	*history
	// credit is for taking turns by weight.
	credit int
}

// history is shared by the pools of a listener.
type history struct {
	active atomic.Int64
	// health is 0 when not checked yet, 1 when it passes, -1 when it fails.
	health atomic.Int32
}

func newPool(space string, l machine.Listener, old *pool, k *keeper) *pool {
	p := &pool{Listener: l}
	known := map[string]*member{}
	for _, m := range old.members {
		known[m.ID] = m
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	for _, want := range l.Members {
		m := &member{Member: want, history: &history{}}
		if k := known[want.ID]; k != nil && k.Address == want.Address {
			m.history = k.history
		}
		p.members = append(p.members, m)
		if l.Check == nil {
			m.health.Store(0)
			continue
		}
		p.checks.Go(func() { watch(ctx, space, m, *l.Check, k) })
	}
	return p
}

func (p *pool) same(l machine.Listener) bool { return reflect.DeepEqual(p.Listener, l) }

func (p *pool) stop() {
	if p.cancel != nil {
		p.cancel()
	}
	p.checks.Wait()
}

func (p *pool) report(health map[string]bool) {
	for _, m := range p.members {
		if h := m.health.Load(); h != 0 && p.Check != nil {
			passes, other := health[m.ID]
			health[m.ID] = h > 0 && (passes || !other)
		}
	}
}

// candidates are the members that take new connections: backups only when
// nobody else can.
func (p *pool) candidates(tried map[*member]bool) []*member {
	for _, backup := range []bool{false, true} {
		var all []*member
		for _, m := range p.members {
			if m.Backup == backup && m.Weight > 0 && m.health.Load() >= 0 && !tried[m] {
				all = append(all, m)
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	return nil
}

// pick chooses the member for a connection, or nil when there is none left.
func (p *pool) pick(from netip.AddrPort, tried map[*member]bool) *member {
	all := p.candidates(tried)
	if len(all) == 0 {
		return nil
	}
	switch p.Algorithm {
	case "LEAST_CONNECTIONS":
		best := all[0]
		for _, m := range all[1:] {
			if m.active.Load()*int64(best.Weight) < best.active.Load()*int64(m.Weight) {
				best = m
			}
		}
		return best
	case "SOURCE_IP":
		return byHash(all, from.Addr().AsSlice())
	case "SOURCE_IP_PORT":
		return byHash(all, []byte(from.String()))
	}
	return p.turn(all)
}

// turn takes turns by weight, spread evenly: each member gains its weight as credit; the one with
// the most credit is chosen and pays the sum of all weights.
func (p *pool) turn(all []*member) *member {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := 0
	var best *member
	for _, m := range all {
		m.credit += m.Weight
		sum += m.Weight
		if best == nil || m.credit > best.credit {
			best = m
		}
	}
	best.credit -= sum
	return best
}

func byHash(all []*member, key []byte) *member {
	h := fnv.New32a()
	_, _ = h.Write(key)
	sum := 0
	for _, m := range all {
		sum += m.Weight
	}
	n := int(h.Sum32() % uint32(sum))
	for _, m := range all {
		if n -= m.Weight; n < 0 {
			return m
		}
	}
	return all[0]
}
