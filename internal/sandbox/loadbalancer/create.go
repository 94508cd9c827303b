package loadbalancer

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// balancerInput is a load balancer to create, with all that is below it if
// the caller wants it at once.
type balancerInput struct {
	lifeInput
	vipInput
	ProjectID        api.Optional[string] `json:"project_id"`
	TenantID         api.Optional[string] `json:"tenant_id"`
	Provider         api.Optional[string] `json:"provider"`
	FlavorID         api.Optional[string] `json:"flavor_id"`
	AvailabilityZone api.Optional[string] `json:"availability_zone"`
	Listeners        []listenerInput      `json:"listeners"`
	Pools            []poolInput          `json:"pools"`
}

func (s *service) createBalancer(c *api.Call) error {
	var in balancerInput
	if err := decodeIn(c, "loadbalancer", &in); err != nil {
		return err
	}
	asked := in.ProjectID
	if !asked.Set {
		asked = in.TenantID
	}
	project, err := projectOf(c, asked)
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		lb := model.LoadBalancer{BalancerAttributes: model.BalancerAttributes{Life: s.newLife(project)}}
		if err := firstError(in.lifeInput.apply(&lb.Life), s.placeOffer(tx, &lb, in),
			s.exceeded(tx, project, "loadbalancer", "Load Balancer", s.model.BalancersOf.Count(tx, project), 1)); err != nil {
			return err
		}
		if err := s.placeVIP(c, tx, &lb, in.vipInput); err != nil {
			return err
		}
		lb.Pending = s.env.Timing.Start(active, createTime)
		s.model.Balancers.Put(tx, lb)
		if err := s.putGraph(tx, lb, in); err != nil {
			return err
		}
		return c.Reply(http.StatusCreated, map[string]any{"loadbalancer": s.graph(tx, lb)})
	})
}

// placeOffer checks provider, flavor and availability zone. A flavor decides
// the provider.
func (s *service) placeOffer(r store.Reader, lb *model.LoadBalancer, in balancerInput) error {
	setPointer(&lb.FlavorID, in.FlavorID)
	setPointer(&lb.AvailabilityZone, in.AvailabilityZone)
	lb.Provider = in.Provider.Or("")
	if lb.FlavorID != nil {
		flavor, ok := s.model.Flavors.Get(r, *lb.FlavorID)
		if !ok {
			return validation("Invalid flavor_id.")
		}
		if !flavor.Enabled {
			return api.BadRequest("The selected flavor is not allowed in this deployment: %s", flavor.ID)
		}
		profile, _ := s.model.FlavorProfiles.Get(r, flavor.ProfileID)
		if lb.Provider != "" && lb.Provider != profile.ProviderName {
			return api.BadRequest("Flavor '%s' is not compatible with provider '%s'", flavor.ID, lb.Provider)
		}
		lb.Provider = profile.ProviderName
	}
	if lb.AvailabilityZone != nil {
		zone, ok := s.model.Zones.Get(r, *lb.AvailabilityZone)
		if !ok || !zone.Enabled {
			return api.BadRequest("The selected availability zone is not allowed in this deployment: %s", *lb.AvailabilityZone)
		}
	}
	if lb.Provider == "" {
		lb.Provider = "amphora"
	}
	if !slices.ContainsFunc(providers(), func(p provider) bool { return p.Name == lb.Provider }) {
		return api.BadRequest("Provider '%s' is not enabled.", lb.Provider)
	}
	return nil
}

// putGraph adds the pools and listeners that come with a load balancer.
func (s *service) putGraph(tx *store.Tx, lb model.LoadBalancer, in balancerInput) error {
	for _, p := range in.Pools {
		if p.Name.Or("") == "" {
			return validation("Pools named here but not used by a listener must have a name.")
		}
		if _, err := s.putPool(tx, lb, p); err != nil {
			return err
		}
	}
	for _, l := range in.Listeners {
		if _, err := s.putListener(tx, lb, l); err != nil {
			return err
		}
	}
	return nil
}

// inlinePool is the default pool that a listener brings: one to make, or just
// the name of one of the load balancer's pools.
func (s *service) inlinePool(tx *store.Tx, lb model.LoadBalancer, in poolInput) (model.Pool, error) {
	name := in.Name.Or("")
	if in.Protocol == "" && !in.Algorithm.Set && name != "" {
		for p := range s.model.PoolsOf.Each(tx, lb.ID) {
			if p.Name == name {
				return p, nil
			}
		}
		return model.Pool{}, validation("Pool %s, which a listener names, is not one of the load balancer's.", name)
	}
	return s.putPool(tx, lb, in)
}

// graph is a load balancer with all below it, the answer to a creation.
func (s *service) graph(r store.Reader, lb model.LoadBalancer) map[string]any {
	listeners, pools := []any{}, []any{}
	for l := range s.model.ListenersOf.Each(r, lb.ID) {
		var pool any
		if p, ok := s.model.Pools.Get(r, text(l.DefaultPoolID)); ok {
			pool = s.poolGraph(r, p)
		}
		listeners = append(listeners, struct {
			listenerView
			DefaultPool any `json:"default_pool"`
		}{newListenerView(l), pool})
	}
	for p := range s.model.PoolsOf.Each(r, lb.ID) {
		pools = append(pools, s.poolGraph(r, p))
	}
	return merged(lb.BalancerAttributes, map[string]any{"listeners": listeners, "pools": pools})
}

func (s *service) poolGraph(r store.Reader, p model.Pool) any {
	members := []any{}
	for m := range s.model.MembersOf.Each(r, p.ID) {
		members = append(members, m.MemberAttributes)
	}
	var monitor any
	if hm, ok := s.model.MonitorsOf.First(r, p.ID); ok {
		monitor = newMonitorView(hm)
	}
	return merged(s.poolView(r, p), map[string]any{"members": members, "healthmonitor": monitor})
}
