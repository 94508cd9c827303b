package loadbalancer

import (
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// listenerView is a listener as clients see it.
type listenerView struct {
	model.ListenerAttributes
	LoadBalancers []ref `json:"loadbalancers"`
	L7Policies    []ref `json:"l7policies"`
}

func newListenerView(l model.Listener) listenerView {
	return listenerView{l.ListenerAttributes, []ref{{l.LoadBalancerID}}, []ref{}}
}

func (s *service) listenerRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /listeners", Role: api.Reader, Handle: s.listListeners},
		{Pattern: "POST /listeners", Role: api.Member, Handle: s.createListener},
		{Pattern: "GET /listeners/{id}", Role: api.Reader, Handle: s.showListener},
		{Pattern: "PUT /listeners/{id}", Role: api.Member, Handle: s.updateListener},
		{Pattern: "DELETE /listeners/{id}", Role: api.Member, Handle: s.deleteListener},
		{Pattern: "GET /listeners/{id}/stats", Role: api.Reader, Handle: s.listenerStats},
	}
}

func (s *service) listener(c *api.Call, r store.Reader, id string) (model.Listener, error) {
	return find(c, r, s.model.Listeners, "Listener", id, func(l model.Listener) string { return l.ProjectID })
}

func below[V any](refs func(V) []ref) api.Filter[V] {
	return func(v V, values []string) bool {
		for _, r := range refs(v) {
			for _, value := range values {
				if r.ID == value {
					return true
				}
			}
		}
		return false
	}
}

func (s *service) listListeners(c *api.Call) error {
	parent := below(func(v listenerView) []ref { return v.LoadBalancers })
	own := map[string]api.Filter[listenerView]{"loadbalancer_id": parent, "load_balancer_id": parent}
	return c.View(func(r store.Reader) error {
		return list("listeners", func(v listenerView) model.Life { return v.Life }, own).Reply(c, func(yield func(listenerView) bool) {
			for l := range s.model.Listeners.All(r) {
				if visible(c, l.ProjectID) && !yield(newListenerView(l)) {
					return
				}
			}
		})
	})
}

func (s *service) showListener(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		l, err := s.listener(c, r, c.Path("id"))
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"listener": api.Select(c, newListenerView(l))})
	})
}

func (s *service) createListener(c *api.Call) error {
	var in listenerInput
	if err := decodeIn(c, "listener", &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		id := in.LoadBalancerID.Or(in.LoadBalancer.Or(""))
		if id == "" {
			return required("loadbalancer_id")
		}
		lb, err := s.balancer(c, tx, id)
		if err != nil {
			return err
		}
		if err := s.lock(tx, lb.ID); err != nil {
			return err
		}
		l, err := s.putListener(tx, lb, in)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusCreated, map[string]any{"listener": newListenerView(l)})
	})
}

// putListener checks and adds a listener, and its own pool if it brings one.
func (s *service) putListener(tx *store.Tx, lb model.LoadBalancer, in listenerInput) (model.Listener, error) {
	l := model.Listener{LoadBalancerID: lb.ID, ListenerAttributes: newListener(s.newLife(lb.ProjectID))}
	l.Protocol, l.ProtocolPort = in.Protocol, in.ProtocolPort.Value
	if err := firstError(in.check(lb), in.apply(&l)); err != nil {
		return l, err
	}
	for other := range s.model.ListenersOf.Each(tx, lb.ID) {
		if other.ProtocolPort == l.ProtocolPort && transport(other.Protocol) == transport(l.Protocol) {
			return l, api.Conflict("Another Listener on this Load Balancer is already using protocol %s and protocol_port %d",
				l.Protocol, l.ProtocolPort)
		}
	}
	if err := s.exceeded(tx, lb.ProjectID, "listener", "Listener", s.used(tx, lb.ProjectID).listeners, 1); err != nil {
		return l, err
	}
	if in.DefaultPool != nil {
		pool, err := s.inlinePool(tx, lb, *in.DefaultPool)
		if err != nil {
			return l, err
		}
		l.DefaultPoolID = &pool.ID
	}
	if err := s.checkListener(tx, l); err != nil {
		return l, err
	}
	s.model.Listeners.Put(tx, l)
	return l, nil
}

// transport is the protocol below, in which a port can be used once.
func transport(protocol string) string {
	if protocol == "UDP" || protocol == "SCTP" {
		return protocol
	}
	return "TCP"
}

func (s *service) updateListener(c *api.Call) error {
	var in listenerChange
	if err := decodeIn(c, "listener", &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		l, err := s.listener(c, tx, c.Path("id"))
		if err != nil {
			return err
		}
		if err := s.lock(tx, l.LoadBalancerID); err != nil {
			return err
		}
		if err := firstError(in.apply(&l), s.checkListener(tx, l)); err != nil {
			return err
		}
		s.touch(&l.Life, pendingUpdate)
		s.model.Listeners.Put(tx, l)
		return c.Reply(http.StatusOK, map[string]any{"listener": newListenerView(l)})
	})
}

// checkListener checks what depends on other resources.
func (s *service) checkListener(r store.Reader, l model.Listener) error {
	if l.Protocol == "TERMINATED_HTTPS" && text(l.DefaultTLSContainerRef) == "" && len(l.SNIContainerRefs) == 0 {
		return validation("An SNI or default TLS container reference is required for %s listeners.", l.Protocol)
	}
	if err := s.checkRefs(r, l); err != nil {
		return err
	}
	if id := text(l.DefaultPoolID); id != "" {
		pool, ok := s.model.Pools.Get(r, id)
		if !ok || pool.ProjectID != l.ProjectID {
			return api.NotFound("Pool %s not found.", id)
		}
		if pool.LoadBalancerID != l.LoadBalancerID {
			return api.Conflict("Pool %s belongs to another load balancer.", id)
		}
		return matching(l.Protocol, pool.Protocol)
	}
	return nil
}

func (s *service) deleteListener(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		l, err := s.listener(c, tx, c.Path("id"))
		if err != nil {
			return err
		}
		if err := s.lock(tx, l.LoadBalancerID); err != nil {
			return err
		}
		s.touch(&l.Life, pendingDelete)
		s.model.Listeners.Put(tx, l)
		return c.Reply(http.StatusNoContent, nil)
	})
}

// stats are counters of connections and bytes; the drivers count none.
func stats() map[string]any {
	return map[string]any{"stats": map[string]int{"active_connections": 0, "bytes_in": 0, "bytes_out": 0,
		"request_errors": 0, "total_connections": 0}}
}

func (s *service) listenerStats(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		if _, err := s.listener(c, r, c.Path("id")); err != nil {
			return err
		}
		return c.Reply(http.StatusOK, stats())
	})
}

// portNumber checks a TCP, UDP or SCTP port.
func portNumber(field string, in api.Optional[int]) error {
	if !in.Set || in.Null {
		return required(field)
	}
	if in.Value < 1 || in.Value > 65535 {
		return between(field, in.Value, 1, 65535)
	}
	return nil
}
