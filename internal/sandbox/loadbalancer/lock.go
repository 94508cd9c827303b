package loadbalancer

import (
	"iter"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// deleted is where the last operation on a load balancer leads.
const deleted = "DELETED"

// lock takes a load balancer for an operation on one of its children, or
// refuses while another one is under way.
func (s *service) lock(tx *store.Tx, id string) error {
	lb, ok := s.model.Balancers.Get(tx, id)
	if !ok {
		return api.NotFound("Load Balancer %s not found.", id)
	}
	if lb.ProvisioningStatus != active {
		return immutable(id)
	}
	s.touch(&lb.Life, pendingUpdate)
	lb.Pending = s.env.Timing.Start(active, updateTime)
	s.model.Balancers.Put(tx, lb)
	return nil
}

// touchPool marks a pool, and the listeners that lead to it, as changing.
func (s *service) touchPool(tx *store.Tx, id string) {
	s.model.Pools.Change(tx, id, func(p *model.Pool) { s.touch(&p.Life, pendingUpdate) })
	s.touchListeners(tx, id)
}

func (s *service) touchListeners(tx *store.Tx, poolID string) {
	for l := range s.model.ListenersFor.Each(tx, poolID) {
		s.model.Listeners.Change(tx, l.ID, func(l *model.Listener) { s.touch(&l.Life, pendingUpdate) })
	}
}

// finish ends the operation under way on a load balancer: it and all below it
// that is pending become active, or are in error, or go.
func (s *service) finish(tx *store.Tx, lb model.LoadBalancer, ok bool) {
	for p := range s.model.PoolsOf.Each(tx, lb.ID) {
		settle(tx, s, s.model.Members, s.model.MembersOf.Each(tx, p.ID), func(m *model.Member) *model.Life { return &m.Life }, ok)
		settle(tx, s, s.model.Monitors, s.model.MonitorsOf.Each(tx, p.ID), func(m *model.HealthMonitor) *model.Life { return &m.Life }, ok)
		if p.ProvisioningStatus == pendingDelete && ok {
			s.dropPool(tx, p.ID)
		}
	}
	settle(tx, s, s.model.Listeners, s.model.ListenersOf.Each(tx, lb.ID), func(l *model.Listener) *model.Life { return &l.Life }, ok)
	settle(tx, s, s.model.Pools, s.model.PoolsOf.Each(tx, lb.ID), func(p *model.Pool) *model.Life { return &p.Life }, ok)
	s.model.Balancers.Change(tx, lb.ID, func(v *model.LoadBalancer) {
		s.touch(&v.Life, active)
		if !ok {
			v.ProvisioningStatus, v.OperatingStatus = failed, failed
		}
		v.Pending = nil
	})
}

// settle ends what is pending of one kind.
func settle[T any](tx *store.Tx, s *service, table *store.Table[T], items iter.Seq[T], life func(*T) *model.Life, ok bool) {
	for item := range items {
		v := life(&item)
		switch {
		case v.ProvisioningStatus == active || v.ProvisioningStatus == failed:
		case !ok:
			table.Change(tx, v.ID, func(item *T) { life(item).ProvisioningStatus = failed })
		case v.ProvisioningStatus == pendingDelete:
			table.Delete(tx, v.ID)
		default:
			table.Change(tx, v.ID, func(item *T) { s.touch(life(item), active) })
		}
	}
}

// dropPool removes a pool with what is below it, and from its listeners.
func (s *service) dropPool(tx *store.Tx, id string) {
	for m := range s.model.MembersOf.Each(tx, id) {
		s.model.Members.Delete(tx, m.ID)
	}
	for hm := range s.model.MonitorsOf.Each(tx, id) {
		s.model.Monitors.Delete(tx, hm.ID)
	}
	for l := range s.model.ListenersFor.Each(tx, id) {
		s.model.Listeners.Change(tx, l.ID, func(l *model.Listener) { l.DefaultPoolID = nil })
	}
	s.model.Pools.Delete(tx, id)
}

// drop removes a load balancer with all below it, and gives its port back.
func (s *service) drop(tx *store.Tx, lb model.LoadBalancer) error {
	for p := range s.model.PoolsOf.Each(tx, lb.ID) {
		s.dropPool(tx, p.ID)
	}
	for l := range s.model.ListenersOf.Each(tx, lb.ID) {
		s.model.Listeners.Delete(tx, l.ID)
	}
	s.model.Balancers.Delete(tx, lb.ID)
	if !lb.OwnsPort {
		s.ports.Unbind(tx, lb.VIPPortID)
		return nil
	}
	return s.ports.Release(tx, lb.VIPPortID)
}
