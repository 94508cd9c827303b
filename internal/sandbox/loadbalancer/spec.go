package loadbalancer

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// spec is what a driver is to make of a load balancer: what is enabled, and
// is not about to go.
func (s *service) spec(id string) (spec machine.Balancer, err error) {
	err = s.env.Store.View(func(r store.Reader) error {
		lb, ok := s.model.Balancers.Get(r, id)
		if !ok {
			return fmt.Errorf("load balancer %s is gone", id)
		}
		spec.ID = id
		// Only OVN does this: between an amphora and its members there are new connections.
		spec.KeepsClients = lb.Provider == "ovn"
		if spec.VIP, ok = s.ports.Card(r, lb.VIPPortID); !ok {
			return fmt.Errorf("port %s of the VIP is gone", lb.VIPPortID)
		}
		if !lb.AdminStateUp {
			return nil
		}
		for l := range s.model.ListenersOf.Each(r, id) {
			if works(l.Life) {
				spec.Listeners = append(spec.Listeners, s.listenerSpec(r, lb, l))
			}
		}
		return nil
	})
	return spec, err
}

func works(v model.Life) bool { return v.AdminStateUp && v.ProvisioningStatus != pendingDelete }

// idle is how long a connection may have no data. HAProxy in an amphora has one limit for each side,
// and data either way starts both again; 0 is no limit. OVN does not look at connections.
func idle(lb model.LoadBalancer, l model.Listener) time.Duration {
	if lb.Provider == "ovn" {
		return 0
	}
	limit := l.TimeoutClientData
	if other := l.TimeoutMemberData; other > 0 && (limit == 0 || other < limit) {
		limit = other
	}
	return time.Duration(limit) * time.Millisecond
}

func (s *service) listenerSpec(r store.Reader, lb model.LoadBalancer, l model.Listener) machine.Listener {
	spec := machine.Listener{ID: l.ID, Protocol: l.Protocol, Port: l.ProtocolPort, ConnectionLimit: l.ConnectionLimit, Idle: idle(lb, l)}
	for _, cidr := range l.AllowedCIDRs {
		if prefix, err := netip.ParsePrefix(cidr); err == nil {
			spec.AllowedCIDRs = append(spec.AllowedCIDRs, prefix)
		}
	}
	p, ok := s.model.Pools.Get(r, text(l.DefaultPoolID))
	if !ok || !works(p.Life) {
		return spec
	}
	spec.Algorithm, spec.MemberProtocol = p.Algorithm, p.Protocol
	for m := range s.model.MembersOf.Each(r, p.ID) {
		if addr, err := netip.ParseAddr(m.Address); err == nil && works(m.Life) {
			spec.Members = append(spec.Members, memberSpec(m, addr))
		}
	}
	if hm, ok := s.model.MonitorsOf.First(r, p.ID); ok && works(hm.Life) {
		spec.Check = &machine.Check{Type: hm.Type, Method: text(hm.HTTPMethod), Path: text(hm.URLPath),
			Codes: text(hm.ExpectedCodes), Delay: hm.Delay, Timeout: hm.Timeout,
			MaxRetries: hm.MaxRetries, MaxRetryDn: hm.MaxRetriesDown}
	}
	return spec
}

func memberSpec(m model.Member, addr netip.Addr) machine.Member {
	spec := machine.Member{ID: m.ID, Weight: m.Weight, Backup: m.Backup,
		Address: netip.AddrPortFrom(addr, uint16(m.ProtocolPort))}
	if m.MonitorPort != nil {
		spec.Monitor.Port = *m.MonitorPort
	}
	if at, err := netip.ParseAddr(text(m.MonitorAddress)); err == nil {
		spec.Monitor.Addr = at
	}
	return spec
}
