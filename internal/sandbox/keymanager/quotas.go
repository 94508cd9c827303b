package keymanager

import (
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) quotaRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v1/quotas", Role: api.Reader, Handle: s.ownQuotas},
		{Pattern: "GET /v1/project-quotas", Role: api.Admin, Handle: s.listQuotas},
		{Pattern: "GET /v1/project-quotas/{project}", Role: api.Admin, Handle: s.showQuotas},
		{Pattern: "PUT /v1/project-quotas/{project}", Role: api.Admin, Handle: s.setQuotas},
		{Pattern: "DELETE /v1/project-quotas/{project}", Role: api.Admin, Handle: s.resetQuotas},
	}
}

func (s *service) ownQuotas(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		return c.Reply(http.StatusOK, map[string]any{"quotas": s.quotas.Limits(r, c.Principal.ProjectID)})
	})
}

func (s *service) listQuotas(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		var found []map[string]any
		for q := range s.quotas.Quotas.Set.All(r) {
			if q.Service == s.quotas.Service {
				found = append(found, map[string]any{"project_id": q.ProjectID, "project_quotas": s.quotas.Limits(r, q.ProjectID)})
			}
		}
		return page(c, "project_quotas", found)
	})
}

// showQuotas answers 404 for a project that has the defaults.
func (s *service) showQuotas(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		if _, ok := s.quotas.Quotas.Set.Get(r, model.QuotaID(s.quotas.Service, c.Path("project"))); !ok {
			return notFound("project quotas")
		}
		return c.Reply(http.StatusOK, map[string]any{"project_quotas": s.quotas.Limits(r, c.Path("project"))})
	})
}

func (s *service) setQuotas(c *api.Call) error {
	var in map[string]int
	if err := c.DecodeIn("project_quotas", &in); err != nil {
		return err
	}
	for name := range in {
		if _, ok := s.quotas.Defaults[name]; !ok {
			return mismatch("Quota", name, "Additional properties are not allowed")
		}
	}
	return c.Update(func(tx *store.Tx) error {
		s.quotas.Set(tx, c.Path("project"), in)
		return c.Reply(http.StatusNoContent, nil)
	})
}

func (s *service) resetQuotas(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		if _, ok := s.quotas.Quotas.Set.Get(tx, model.QuotaID(s.quotas.Service, c.Path("project"))); !ok {
			return notFound("project quotas")
		}
		s.quotas.Reset(tx, c.Path("project"))
		return c.Reply(http.StatusNoContent, nil)
	})
}
