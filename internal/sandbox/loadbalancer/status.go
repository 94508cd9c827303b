package loadbalancer

import (
	"encoding/json"
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) balancerStats(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		if _, err := s.balancer(c, r, c.Path("id")); err != nil {
			return err
		}
		return c.Reply(http.StatusOK, stats())
	})
}

// balancerStatus is the tree of all below a load balancer with its states.
func (s *service) balancerStatus(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		lb, err := s.balancer(c, r, c.Path("id"))
		if err != nil {
			return err
		}
		listeners := []any{}
		for l := range s.model.ListenersOf.Each(r, lb.ID) {
			pools := []any{}
			if p, ok := s.model.Pools.Get(r, text(l.DefaultPoolID)); ok {
				pools = append(pools, s.poolStatus(r, p))
			}
			listeners = append(listeners, merged(newState(l.Life), map[string]any{"pools": pools}))
		}
		tree := merged(newState(lb.Life), map[string]any{"listeners": listeners})
		return c.Reply(http.StatusOK, map[string]any{"statuses": map[string]any{"loadbalancer": tree}})
	})
}

func (s *service) poolStatus(r store.Reader, p model.Pool) any {
	members := []any{}
	for m := range s.model.MembersOf.Each(r, p.ID) {
		members = append(members, merged(newState(m.Life), map[string]any{"address": m.Address, "protocol_port": m.ProtocolPort}))
	}
	more := map[string]any{"members": members}
	if hm, ok := s.model.MonitorsOf.First(r, p.ID); ok {
		more["healthmonitor"] = merged(newState(hm.Life), map[string]any{"type": hm.Type})
	}
	return merged(newState(p.Life), more)
}

// state is a node of the tree.
type state struct {
	ID                 string `json:"id"`
	Name               string `json:"name"`
	ProvisioningStatus string `json:"provisioning_status"`
	OperatingStatus    string `json:"operating_status"`
}

func newState(v model.Life) state {
	return state{v.ID, v.Name, v.ProvisioningStatus, v.OperatingStatus}
}

// merged is an object with more attributes, or others for its own.
func merged(object any, more map[string]any) map[string]any {
	all := map[string]any{}
	if text, err := json.Marshal(object); err == nil {
		_ = json.Unmarshal(text, &all) // what Marshal wrote
	}
	for name, value := range more {
		all[name] = value
	}
	return all
}
