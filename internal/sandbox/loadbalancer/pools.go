package loadbalancer

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// poolView is a pool as clients see it.
type poolView struct {
	model.PoolAttributes
	LoadBalancers []ref   `json:"loadbalancers"`
	Listeners     []ref   `json:"listeners"`
	Members       []ref   `json:"members"`
	MonitorID     *string `json:"healthmonitor_id"`
}

func (s *service) poolRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /pools", Role: api.Reader, Handle: s.listPools},
		{Pattern: "POST /pools", Role: api.Member, Handle: s.createPool},
		{Pattern: "GET /pools/{id}", Role: api.Reader, Handle: s.showPool},
		{Pattern: "PUT /pools/{id}", Role: api.Member, Handle: s.updatePool},
		{Pattern: "DELETE /pools/{id}", Role: api.Member, Handle: s.deletePool},
	}
}

func (s *service) poolView(r store.Reader, p model.Pool) poolView {
	v := poolView{PoolAttributes: p.PoolAttributes, LoadBalancers: []ref{{p.LoadBalancerID}}, Listeners: []ref{}, Members: []ref{}}
	for l := range s.model.ListenersFor.Each(r, p.ID) {
		v.Listeners = append(v.Listeners, ref{l.ID})
	}
	for m := range s.model.MembersOf.Each(r, p.ID) {
		v.Members = append(v.Members, ref{m.ID})
	}
	if hm, ok := s.model.MonitorsOf.First(r, p.ID); ok {
		v.MonitorID = &hm.ID
	}
	return v
}

func (s *service) pool(c *api.Call, r store.Reader, id string) (model.Pool, error) {
	return find(c, r, s.model.Pools, "Pool", id, func(p model.Pool) string { return p.ProjectID })
}

func (s *service) listPools(c *api.Call) error {
	parent := below(func(v poolView) []ref { return v.LoadBalancers })
	own := map[string]api.Filter[poolView]{"loadbalancer_id": parent, "load_balancer_id": parent,
		"listener_id": below(func(v poolView) []ref { return v.Listeners })}
	return c.View(func(r store.Reader) error {
		return list("pools", func(v poolView) model.Life { return v.Life }, own).Reply(c, func(yield func(poolView) bool) {
			for p := range s.model.Pools.All(r) {
				if visible(c, p.ProjectID) && !yield(s.poolView(r, p)) {
					return
				}
			}
		})
	})
}

func (s *service) showPool(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		p, err := s.pool(c, r, c.Path("id"))
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"pool": api.Select(c, s.poolView(r, p))})
	})
}

func (s *service) createPool(c *api.Call) error {
	var in poolInput
	if err := decodeIn(c, "pool", &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		lb, listener, err := s.poolParents(c, tx, in)
		if err != nil {
			return err
		}
		if err := s.lock(tx, lb.ID); err != nil {
			return err
		}
		p, err := s.putPool(tx, lb, in)
		if err != nil {
			return err
		}
		if listener != nil {
			if err := matching(listener.Protocol, p.Protocol); err != nil {
				return err
			}
			s.model.Listeners.Change(tx, listener.ID, func(l *model.Listener) {
				l.DefaultPoolID = &p.ID
				s.touch(&l.Life, pendingUpdate)
			})
		}
		return c.Reply(http.StatusCreated, map[string]any{"pool": s.poolView(tx, p)})
	})
}

// poolParents finds the load balancer of a new pool, and the listener whose
// default it becomes, if one is named.
func (s *service) poolParents(c *api.Call, r store.Reader, in poolInput) (model.LoadBalancer, *model.Listener, error) {
	if id := in.ListenerID.Or(""); id != "" {
		l, err := s.listener(c, r, id)
		if err != nil {
			return model.LoadBalancer{}, nil, err
		}
		if l.DefaultPoolID != nil {
			return model.LoadBalancer{}, nil, api.Conflict("This listener already has a default pool")
		}
		if l.Protocol == "PROMETHEUS" {
			return model.LoadBalancer{}, nil, validation("Listeners of type PROMETHEUS do not support a default_pool.")
		}
		lb, err := s.balancer(c, r, l.LoadBalancerID)
		return lb, &l, err
	}
	if id := in.LoadBalancerID.Or(in.LoadBalancer.Or("")); id != "" {
		lb, err := s.balancer(c, r, id)
		return lb, nil, err
	}
	return model.LoadBalancer{}, nil, validation("Must provide at least one of: loadbalancer_id, listener_id")
}

// putPool checks and adds a pool with the members and the monitor it brings.
func (s *service) putPool(tx *store.Tx, lb model.LoadBalancer, in poolInput) (model.Pool, error) {
	p := model.Pool{LoadBalancerID: lb.ID, PoolAttributes: model.PoolAttributes{Life: s.newLife(lb.ProjectID),
		Protocol: in.Protocol, TLSVersions: []string{}, ALPNProtocols: []string{}}}
	if err := firstError(oneOf("protocol", in.Protocol, poolProtocols()), in.apply(lb, &p)); err != nil {
		return p, err
	}
	if err := s.exceeded(tx, lb.ProjectID, "pool", "Pool", s.used(tx, lb.ProjectID).pools, 1); err != nil {
		return p, err
	}
	s.model.Pools.Put(tx, p)
	for _, m := range in.Members {
		if _, err := s.putMember(tx, p, m); err != nil {
			return p, err
		}
	}
	if in.Monitor != nil {
		if _, err := s.putMonitor(tx, p, *in.Monitor); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (s *service) updatePool(c *api.Call) error {
	var in poolChange
	if err := decodeIn(c, "pool", &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		p, err := s.pool(c, tx, c.Path("id"))
		if err != nil {
			return err
		}
		if err := s.lock(tx, p.LoadBalancerID); err != nil {
			return err
		}
		lb, _ := s.model.Balancers.Get(tx, p.LoadBalancerID)
		if err := in.apply(lb, &p); err != nil {
			return err
		}
		s.touch(&p.Life, pendingUpdate)
		s.model.Pools.Put(tx, p)
		s.touchListeners(tx, p.ID)
		return c.Reply(http.StatusOK, map[string]any{"pool": s.poolView(tx, p)})
	})
}

func (s *service) deletePool(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		p, err := s.pool(c, tx, c.Path("id"))
		if err != nil {
			return err
		}
		if err := s.lock(tx, p.LoadBalancerID); err != nil {
			return err
		}
		s.touch(&p.Life, pendingDelete)
		s.model.Pools.Put(tx, p)
		s.touchListeners(tx, p.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}

// matching refuses a pool whose protocol a listener cannot pass on.
func matching(listener, pool string) error {
	fits := map[string][]string{
		"TCP": {"HTTP", "HTTPS", "PROXY", "PROXYV2", "TCP"}, "HTTP": {"HTTP", "PROXY", "PROXYV2"},
		"HTTPS": {"HTTPS", "PROXY", "PROXYV2", "TCP"}, "TERMINATED_HTTPS": {"HTTP", "PROXY", "PROXYV2"},
		"UDP": {"UDP"}, "SCTP": {"SCTP"},
	}
	if !slices.Contains(fits[listener], pool) {
		return validation("The pool protocol '%s' is invalid while the listener protocol is '%s'.", pool, listener)
	}
	return nil
}
