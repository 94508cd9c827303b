package network

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// reserve refuses one more of a resource when the project's quota is used up.
// What belongs to no project has none.
func (n *Core) reserve(r store.Reader, project, resource string) error {
	if project == "" {
		return nil
	}
	if _, over := n.quotas.Exceeded(r, project, resource, n.used(r, project, resource), 1); over {
		return conflict("OverQuota", "Quota exceeded for resources: ['%s'].", resource)
	}
	return nil
}

// used counts what a project has of a resource.
func (n *Core) used(r store.Reader, project, resource string) int {
	switch resource {
	case "network":
		return n.model.NetworksOf.Count(r, project)
	case "subnet":
		return n.model.SubnetsOf.Count(r, project)
	case "port":
		return n.model.PortsOf.Count(r, project)
	case "router":
		return n.model.RoutersOf.Count(r, project)
	case "floatingip":
		return n.model.FloatingIPsOf.Count(r, project)
	case "security_group":
		return n.model.GroupsOf.Count(r, project)
	case "security_group_rule":
		return n.model.RulesOf.Count(r, project)
	case "rbac_policy":
		return n.model.PoliciesOf.Count(r, project)
	case "subnetpool":
		return n.model.PoolsOf.Count(r, project)
	case "trunk":
		return n.model.TrunksOf.Count(r, project)
	}
	return 0
}

func (n *Core) quotaRoutes() []api.Route {
	one := "/v2.0/quotas/{project}"
	return []api.Route{
		{Pattern: "GET /v2.0/quotas", Role: api.Admin, Handle: n.listQuotas},
		{Pattern: "GET " + one, Role: api.Reader, Handle: n.showQuotas},
		{Pattern: "GET " + one + "/default", Role: api.Reader, Handle: n.defaultQuotas},
		{Pattern: "GET " + one + "/details", Role: api.Reader, Handle: n.quotaDetails},
		{Pattern: "GET " + one + "/details.json", Role: api.Reader, Handle: n.quotaDetails},
		{Pattern: "PUT " + one, Role: api.Admin, Handle: n.updateQuotas},
		{Pattern: "DELETE " + one, Role: api.Admin, Handle: n.resetQuotas},
	}
}

// project is the project in the path, if the caller may see its quotas.
func project(c *api.Call) (string, error) {
	id := c.Path("project")
	if id == "tenant" || id == "project" {
		id = c.Principal.ProjectID
	}
	if !owns(c.Principal, id) {
		return id, disallowed("rule:get_quota")
	}
	return id, nil
}

func (n *Core) listQuotas(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		quotas := []any{}
		for q := range n.env.Model.Quotas.Set.All(r) {
			if q.Service == n.quotas.Service {
				quotas = append(quotas, quotaView(n.quotas.Limits(r, q.ProjectID), q.ProjectID))
			}
		}
		return c.Reply(http.StatusOK, map[string]any{"quotas": quotas})
	})
}

func quotaView(limits map[string]int, project string) map[string]any {
	view := map[string]any{"project_id": project, "tenant_id": project}
	for name, limit := range limits {
		view[name] = limit
	}
	return view
}

func (n *Core) showQuotas(c *api.Call) error {
	id, err := project(c)
	if err != nil {
		return err
	}
	if c.Path("project") == "tenant" || c.Path("project") == "project" {
		return c.Reply(http.StatusOK, map[string]any{c.Path("project"): map[string]string{"tenant_id": id, "project_id": id}})
	}
	return c.View(func(r store.Reader) error {
		return c.Reply(http.StatusOK, map[string]any{"quota": n.quotas.Limits(r, id)})
	})
}

func (n *Core) defaultQuotas(c *api.Call) error {
	if _, err := project(c); err != nil {
		return err
	}
	return c.Reply(http.StatusOK, map[string]any{"quota": n.quotas.Defaults})
}

// quotaDetails also tells what is used; nothing is ever only reserved,
// because calls are transactions.
func (n *Core) quotaDetails(c *api.Call) error {
	id, err := project(c)
	if err != nil {
		return err
	}
	return c.View(func(r store.Reader) error {
		details := map[string]any{}
		for name, limit := range n.quotas.Limits(r, id) {
			details[name] = map[string]int{"limit": limit, "used": n.used(r, id, name), "reserved": 0}
		}
		return c.Reply(http.StatusOK, map[string]any{"quota": details})
	})
}

func (n *Core) updateQuotas(c *api.Call) error {
	var in map[string]json.RawMessage
	if err := c.DecodeIn("quota", &in); err != nil {
		return err
	}
	limits := map[string]int{}
	for name, raw := range in {
		if slices.Contains([]string{"project_id", "tenant_id", "force", "check_limit"}, name) {
			continue
		}
		var limit scalar
		if _, known := n.quotas.Defaults[name]; !known {
			return api.BadRequest("Unrecognized attribute(s) '%s'", name)
		}
		if json.Unmarshal(raw, &limit) != nil {
			return api.BadRequest("Invalid input for %s. Reason: '%s' is not an integer.", name, raw)
		}
		value, err := number(name, api.Optional[scalar]{Set: true, Value: limit})
		if err != nil {
			return err
		}
		if value == nil || *value < -1 {
			return api.BadRequest("Invalid input for %s. Reason: '%s' is too small - must be at least '-1'.", name, raw)
		}
		limits[name] = *value
	}
	return c.Update(func(tx *store.Tx) error {
		n.quotas.Set(tx, c.Path("project"), limits)
		return c.Reply(http.StatusOK, map[string]any{"quota": n.quotas.Limits(tx, c.Path("project"))})
	})
}

func (n *Core) resetQuotas(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		id := model.QuotaID(n.quotas.Service, c.Path("project"))
		if _, ok := n.env.Model.Quotas.Set.Get(tx, id); !ok {
			return api.Errorf(http.StatusNotFound, "TenantQuotaNotFound", "Quota for tenant %s could not be found.", c.Path("project"))
		}
		n.quotas.Reset(tx, c.Path("project"))
		return c.Reply(http.StatusNoContent, nil)
	})
}
