package loadbalancer

import (
	"iter"
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// balancerView is a load balancer as clients see it.
type balancerView struct {
	model.BalancerAttributes
	Listeners []ref `json:"listeners"`
	Pools     []ref `json:"pools"`
}

func (s *service) balancerRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /loadbalancers", Role: api.Reader, Handle: s.listBalancers},
		{Pattern: "POST /loadbalancers", Role: api.Member, Handle: s.createBalancer},
		{Pattern: "GET /loadbalancers/{id}", Role: api.Reader, Handle: s.showBalancer},
		{Pattern: "PUT /loadbalancers/{id}", Role: api.Member, Handle: s.updateBalancer},
		{Pattern: "DELETE /loadbalancers/{id}", Role: api.Member, Handle: s.deleteBalancer},
		{Pattern: "PUT /loadbalancers/{id}/failover", Role: api.Member, Handle: s.failover},
		{Pattern: "GET /loadbalancers/{id}/stats", Role: api.Reader, Handle: s.balancerStats},
		{Pattern: "GET /loadbalancers/{id}/status", Role: api.Reader, Handle: s.balancerStatus},
		{Pattern: "GET /loadbalancers/{id}/statuses", Role: api.Reader, Handle: s.balancerStatus},
	}
}

func (s *service) balancerView(r store.Reader, lb model.LoadBalancer) balancerView {
	v := balancerView{BalancerAttributes: lb.BalancerAttributes, Listeners: []ref{}, Pools: []ref{}}
	for l := range s.model.ListenersOf.Each(r, lb.ID) {
		v.Listeners = append(v.Listeners, ref{l.ID})
	}
	for p := range s.model.PoolsOf.Each(r, lb.ID) {
		v.Pools = append(v.Pools, ref{p.ID})
	}
	return v
}

func (s *service) balancer(c *api.Call, r store.Reader, id string) (model.LoadBalancer, error) {
	return find(c, r, s.model.Balancers, "Load Balancer", id, func(lb model.LoadBalancer) string { return lb.ProjectID })
}

// list is how all collections of Octavia are listed.
func list[V any](key string, life func(V) model.Life, own map[string]api.Filter[V]) api.List[V] {
	filters := api.TagFilters(func(v V) []string { return life(v).Tags })
	for name, filter := range own {
		filters[name] = filter
	}
	return api.List[V]{Key: key, ID: func(v V) string { return life(v).ID }, Filters: filters,
		MaxLimit: 1000, Links: api.BothLinks}
}

func (s *service) listBalancers(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		return list("loadbalancers", func(v balancerView) model.Life { return v.Life }, nil).Reply(c, s.balancers(c, r))
	})
}

func (s *service) balancers(c *api.Call, r store.Reader) iter.Seq[balancerView] {
	return func(yield func(balancerView) bool) {
		for lb := range s.model.Balancers.All(r) {
			if visible(c, lb.ProjectID) && !yield(s.balancerView(r, lb)) {
				return
			}
		}
	}
}

func (s *service) showBalancer(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		lb, err := s.balancer(c, r, c.Path("id"))
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"loadbalancer": api.Select(c, s.balancerView(r, lb))})
	})
}

func (s *service) updateBalancer(c *api.Call) error {
	var in struct {
		lifeInput
		Qos api.Optional[string] `json:"vip_qos_policy_id"`
	}
	if err := decodeIn(c, "loadbalancer", &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		lb, err := s.balancer(c, tx, c.Path("id"))
		if err != nil {
			return err
		}
		if lb.ProvisioningStatus != active {
			return busy(lb)
		}
		if err := in.apply(&lb.Life); err != nil {
			return err
		}
		setPointer(&lb.VIPQosPolicyID, in.Qos)
		s.touch(&lb.Life, pendingUpdate)
		lb.Pending = s.env.Timing.Start(active, updateTime)
		s.model.Balancers.Put(tx, lb)
		return c.Reply(http.StatusOK, map[string]any{"loadbalancer": s.balancerView(tx, lb)})
	})
}

// busy is what a load balancer itself answers when it is not in a state for
// the operation.
func busy(lb model.LoadBalancer) error {
	return api.Conflict("Invalid state %s of loadbalancer resource %s", lb.ProvisioningStatus, lb.ID)
}

func (s *service) deleteBalancer(c *api.Call) error {
	cascade := c.Query("cascade") == "true" || c.Query("cascade") == "True"
	return c.Update(func(tx *store.Tx) error {
		lb, err := s.balancer(c, tx, c.Path("id"))
		if err != nil {
			return err
		}
		children := s.model.ListenersOf.Count(tx, lb.ID) + s.model.PoolsOf.Count(tx, lb.ID)
		if children > 0 && !cascade {
			return validation("Cannot delete Load Balancer %s - it has children", lb.ID)
		}
		if lb.ProvisioningStatus != active && lb.ProvisioningStatus != failed {
			return busy(lb)
		}
		s.touch(&lb.Life, pendingDelete)
		lb.Pending = s.env.Timing.Start(deleted, deleteTime)
		s.model.Balancers.Put(tx, lb)
		return c.Reply(http.StatusNoContent, nil)
	})
}

// failover makes a load balancer anew; it is also the way out of an error.
func (s *service) failover(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		lb, err := s.balancer(c, tx, c.Path("id"))
		if err != nil {
			return err
		}
		if lb.ProvisioningStatus != active && lb.ProvisioningStatus != failed {
			return busy(lb)
		}
		s.touch(&lb.Life, pendingUpdate)
		lb.Pending = s.env.Timing.Start(active, createTime)
		s.model.Balancers.Put(tx, lb)
		return c.Reply(http.StatusAccepted, nil)
	})
}
