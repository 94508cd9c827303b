package loadbalancer

import (
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// verdict is the operating status of a member that is checked, given the one
// it had.
type verdict func(memberID, was string) string

// report reads a driver's report. A driver without checks takes every member
// for healthy; a member that was not checked yet keeps what it had.
func report(health map[string]bool) verdict {
	return func(id, was string) string {
		healthy, checked := health[id]
		switch {
		case health == nil || checked && healthy:
			return online
		case checked:
			return failed
		case was == online || was == failed:
			return was
		}
		return offline
	}
}

// judge derives the operating status of everything below a load balancer and
// of itself. A nil verdict leaves checked members as they are.
func (s *service) judge(tx *store.Tx, id string, of verdict) {
	if of == nil {
		of = report(map[string]bool{})
	}
	whole := online
	for p := range s.model.PoolsOf.Each(tx, id) {
		status := s.judgePool(tx, p, of)
		if status == failed || status == degraded && whole == online {
			whole = status
		}
	}
	for l := range s.model.ListenersOf.Each(tx, id) {
		setStatus(tx, s.model.Listeners, l.ID, l.OperatingStatus, upOr(l.AdminStateUp, online),
			func(l *model.Listener) *model.Life { return &l.Life })
	}
	if lb, ok := s.model.Balancers.Get(tx, id); ok {
		setStatus(tx, s.model.Balancers, id, lb.OperatingStatus, upOr(lb.AdminStateUp, whole),
			func(lb *model.LoadBalancer) *model.Life { return &lb.Life })
	}
}

// judgePool derives the status of a pool: in error when all of its members
// that are in use are, degraded when some are.
func (s *service) judgePool(tx *store.Tx, p model.Pool, of verdict) string {
	hm, checked := s.model.MonitorsOf.First(tx, p.ID)
	if checked {
		setStatus(tx, s.model.Monitors, hm.ID, hm.OperatingStatus, upOr(hm.AdminStateUp, online),
			func(hm *model.HealthMonitor) *model.Life { return &hm.Life })
	}
	used, down := 0, 0
	for m := range s.model.MembersOf.Each(tx, p.ID) {
		status := noMonitor
		switch {
		case !m.AdminStateUp:
			status = offline
		case m.Weight == 0:
			status = draining
		case checked && hm.AdminStateUp:
			status = of(m.ID, m.OperatingStatus)
		}
		if m.AdminStateUp {
			used++
		}
		if status == failed {
			down++
		}
		setStatus(tx, s.model.Members, m.ID, m.OperatingStatus, status, func(m *model.Member) *model.Life { return &m.Life })
	}
	status := online
	if down > 0 {
		status = degraded
	}
	if down > 0 && down == used {
		status = failed
	}
	status = upOr(p.AdminStateUp, status)
	setStatus(tx, s.model.Pools, p.ID, p.OperatingStatus, status, func(p *model.Pool) *model.Life { return &p.Life })
	return status
}

func upOr(up bool, status string) string {
	if !up {
		return offline
	}
	return status
}

// setStatus writes only what changed, because every write wakes the loop.
func setStatus[T any](tx *store.Tx, table *store.Table[T], id, was, status string, life func(*T) *model.Life) {
	if was != status {
		table.Change(tx, id, func(item *T) { life(item).OperatingStatus = status })
	}
}
