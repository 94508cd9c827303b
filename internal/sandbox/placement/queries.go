package placement

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// projectUsages is what a project, or one of its users, uses in all.
func (s *service) projectUsages(c *api.Call) error {
	project := c.Query("project_id")
	switch {
	case !c.Version.AtLeast(1, 9):
		return api.NotFound("The resource could not be found.")
	case project == "":
		return api.BadRequest("Invalid query string parameters: 'project_id' is a required property")
	case !c.Principal.Owns(project):
		return api.Forbidden("Access was denied to this resource.")
	}
	return c.View(func(r store.Reader) error {
		used := map[string]int{}
		for v := range s.model.Compute.ServersOf.Each(r, project) {
			if v.Host == "" || c.Query("user_id") != "" && c.Query("user_id") != v.UserID {
				continue
			}
			for class, n := range resources(v) {
				used[class] += n
			}
		}
		return c.Reply(http.StatusOK, map[string]any{"usages": used})
	})
}

func (s *service) listTraits(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		names := []string{}
		for _, p := range s.providers(r) {
			names = append(names, p.Traits...)
		}
		slices.Sort(names)
		return c.Reply(http.StatusOK, map[string]any{"traits": slices.Compact(names)})
	})
}

func (s *service) listClasses(c *api.Call) error {
	list := []any{}
	for _, name := range classes() {
		list = append(list, map[string]any{"name": name, "links": []api.Link{{Rel: "self", Href: c.Service.Prefix + "/resource_classes/" + name}}})
	}
	return c.Reply(http.StatusOK, map[string]any{"resource_classes": list})
}

// showConsumer is what one server has allocated; nothing for others.
func (s *service) showConsumer(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		body := map[string]any{"allocations": map[string]any{}}
		v, ok := s.model.Compute.Servers.Get(r, c.Path("consumer"))
		host, placed := s.model.Compute.Hosts.Get(r, v.Host)
		if !ok || !placed {
			return c.Reply(http.StatusOK, body)
		}
		body["allocations"] = map[string]any{host.ID: map[string]any{"generation": s.hostProvider(r, host).Generation, "resources": resources(v)}}
		if c.Version.AtLeast(1, 12) {
			body["project_id"], body["user_id"] = v.ProjectID, v.UserID
		}
		if c.Version.AtLeast(1, 28) {
			body["consumer_generation"] = 1
		}
		return c.Reply(http.StatusOK, body)
	})
}

// candidates are the providers that could give the resources of the query.
func (s *service) candidates(c *api.Call) error {
	wanted, err := amounts(c.Query("resources"))
	if err != nil {
		return err
	}
	if len(wanted) == 0 || !c.Version.AtLeast(1, 12) {
		return api.BadRequest("At least one resources parameter is required")
	}
	return c.View(func(r store.Reader) error {
		requests, summaries := []any{}, map[string]any{}
		for _, p := range s.providers(r) {
			if !s.has(r, p, wanted) {
				continue
			}
			requests = append(requests, map[string]any{"allocations": map[string]any{p.ID: map[string]any{"resources": wanted}}})
			used, about := s.usages(r, p), map[string]any{}
			for class, i := range p.Inventories {
				about[class] = map[string]int{"capacity": int(float64(i.Total-i.Reserved) * i.Ratio), "used": used[class]}
			}
			summaries[p.ID] = map[string]any{"resources": about, "traits": p.Traits,
				"root_provider_uuid": p.RootID, "parent_provider_uuid": orNull(p.ParentID)}
		}
		return c.Reply(http.StatusOK, map[string]any{"allocation_requests": requests, "provider_summaries": summaries})
	})
}
