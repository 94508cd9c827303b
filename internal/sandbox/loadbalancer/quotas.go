package loadbalancer

import (
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// unlimited are Octavia's default quotas.
func unlimited() map[string]int {
	return map[string]int{"loadbalancer": -1, "listener": -1, "pool": -1, "member": -1, "healthmonitor": -1, "l7policy": -1, "l7rule": -1}
}

func (s *service) quotaRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /quotas", Role: api.Reader, Handle: s.listQuotas},
		{Pattern: "GET /quotas/defaults", Role: api.Reader, Handle: s.defaultQuotas},
		{Pattern: "GET /quotas/{project}", Role: api.Reader, Handle: s.showQuota},
		{Pattern: "GET /quotas/{project}/default", Role: api.Reader, Handle: s.defaultQuotas},
		{Pattern: "PUT /quotas/{project}", Role: api.Admin, Handle: s.updateQuota},
		{Pattern: "DELETE /quotas/{project}", Role: api.Admin, Handle: s.resetQuota},
	}
}

// quotaView has two of the names in their old spelling too.
func quotaView(limits map[string]int) map[string]any {
	v := map[string]any{"load_balancer": limits["loadbalancer"], "health_monitor": limits["healthmonitor"]}
	for name, limit := range limits {
		v[name] = limit
	}
	return v
}

func (s *service) listQuotas(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		quotas := []any{}
		for q := range s.quotas.Quotas.Set.All(r) {
			if q.Service == s.quotas.Service && c.Principal.Owns(q.ProjectID) {
				quotas = append(quotas, merged(quotaView(s.quotas.Limits(r, q.ProjectID)), map[string]any{"project_id": q.ProjectID}))
			}
		}
		return c.Reply(http.StatusOK, map[string]any{"quotas": quotas, "quotas_links": []any{}})
	})
}

func (s *service) defaultQuotas(c *api.Call) error {
	return c.Reply(http.StatusOK, map[string]any{"quota": quotaView(s.quotas.Defaults)})
}

func (s *service) showQuota(c *api.Call) error {
	if !c.Principal.Owns(c.Path("project")) {
		return forbidden()
	}
	return c.View(func(r store.Reader) error {
		return c.Reply(http.StatusOK, map[string]any{"quota": quotaView(s.quotas.Limits(r, c.Path("project")))})
	})
}

func (s *service) updateQuota(c *api.Call) error {
	var in map[string]*int
	if err := decodeIn(c, "quota", &in); err != nil {
		return err
	}
	limits := map[string]int{}
	for name, limit := range in {
		switch name {
		case "load_balancer":
			name = "loadbalancer"
		case "health_monitor":
			name = "healthmonitor"
		}
		def, known := s.quotas.Defaults[name]
		if !known {
			return api.BadRequest("Unknown attribute: %s", name)
		}
		limits[name] = def
		if limit != nil {
			if err := between(name, *limit, -1, 2_000_000_000); err != nil {
				return err
			}
			limits[name] = *limit
		}
	}
	return c.Update(func(tx *store.Tx) error {
		s.quotas.Set(tx, c.Path("project"), limits)
		return c.Reply(http.StatusAccepted, map[string]any{"quota": quotaView(s.quotas.Limits(tx, c.Path("project")))})
	})
}

func (s *service) resetQuota(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		s.quotas.Reset(tx, c.Path("project"))
		return c.Reply(http.StatusNoContent, nil)
	})
}

// usage counts what a project has.
type usage struct{ listeners, pools, members, monitors int }

func (s *service) used(r store.Reader, projectID string) (u usage) {
	for lb := range s.model.BalancersOf.Each(r, projectID) {
		u.listeners += s.model.ListenersOf.Count(r, lb.ID)
		for p := range s.model.PoolsOf.Each(r, lb.ID) {
			u.pools++
			u.members += s.model.MembersOf.Count(r, p.ID)
			u.monitors += s.model.MonitorsOf.Count(r, p.ID)
		}
	}
	return u
}
