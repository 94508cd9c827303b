package compute

import (
	"net/http"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) groupRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v2.1/os-server-groups", Role: api.Reader, Handle: s.listGroups},
		{Pattern: "POST /v2.1/os-server-groups", Role: api.Member, Handle: s.createGroup},
		{Pattern: "GET /v2.1/os-server-groups/{id}", Role: api.Reader, Handle: s.showGroup},
		{Pattern: "DELETE /v2.1/os-server-groups/{id}", Role: api.Member, Handle: s.deleteGroup},
	}
}

// The policies of server groups.
const (
	affinity         = "affinity"
	antiAffinity     = "anti-affinity"
	softAffinity     = "soft-affinity"
	softAntiAffinity = "soft-anti-affinity"
)

func (s *service) groupView(c *api.Call, r store.Reader, g model.ServerGroup) map[string]any {
	members := []string{}
	for v := range s.model.ServersIn.Each(r, g.ID) {
		if v.TaskState != taskDeleting {
			members = append(members, v.ID)
		}
	}
	v := map[string]any{"id": g.ID, "name": g.Name, "members": members}
	if c.Version.AtLeast(2, 13) {
		v["project_id"], v["user_id"] = g.ProjectID, g.UserID
	}
	if c.Version.AtLeast(2, 64) {
		rules := g.Rules
		if rules == nil {
			rules = map[string]int{}
		}
		v["policy"], v["rules"] = g.Policy, rules
	} else {
		v["policies"], v["metadata"] = []string{g.Policy}, map[string]string{}
	}
	return v
}

func (s *service) group(c *api.Call, r store.Reader, id string) (model.ServerGroup, error) {
	g, ok := s.model.Groups.Get(r, id)
	if !ok || !c.Principal.Owns(g.ProjectID) {
		return g, api.NotFound("Instance group %s could not be found.", id)
	}
	return g, nil
}

func (s *service) listGroups(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		groups := slices.Collect(s.model.GroupsOf.Each(r, c.Principal.ProjectID))
		if c.Request.URL.Query().Has("all_projects") && c.Principal.Admin() {
			groups = slices.Collect(s.model.Groups.All(r))
		}
		offset, limit := number(c.Query("offset")), number(c.Query("limit"))
		groups = groups[min(max(offset, 0), len(groups)):]
		if limit > 0 {
			groups = groups[:min(limit, len(groups))]
		}
		list := []any{}
		for _, g := range groups {
			list = append(list, s.groupView(c, r, g))
		}
		return c.Reply(http.StatusOK, map[string]any{"server_groups": list})
	})
}

func (s *service) showGroup(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		g, err := s.group(c, r, c.Path("id"))
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"server_group": s.groupView(c, r, g)})
	})
}

type groupInput struct {
	Name     string            `json:"name"`
	Policies []string          `json:"policies"`
	Policy   string            `json:"policy"`
	Rules    map[string]amount `json:"rules"`
}

func (in groupInput) group(c *api.Call) (model.ServerGroup, error) {
	g := model.ServerGroup{ID: model.NewID(), Name: strings.TrimSpace(in.Name), Policy: in.Policy,
		ProjectID: c.Principal.ProjectID, UserID: c.Principal.UserID()}
	if g.Name == "" || len(g.Name) > 255 {
		return g, api.BadRequest("Invalid input for field/attribute name. Value: %s. %q is too short or too long", in.Name, in.Name)
	}
	if !c.Version.AtLeast(2, 64) {
		if len(in.Policies) != 1 {
			return g, api.BadRequest("Invalid input for field/attribute policies. Value: %v. %v is too short or too long", in.Policies, in.Policies)
		}
		g.Policy = in.Policies[0]
	}
	known := []string{affinity, antiAffinity}
	if c.Version.AtLeast(2, 15) {
		known = append(known, softAffinity, softAntiAffinity)
	}
	if !slices.Contains(known, g.Policy) {
		return g, api.BadRequest("Invalid input for field/attribute policy. Value: %s. %q is not one of ['%s']", g.Policy, g.Policy, strings.Join(known, "', '"))
	}
	for name, value := range in.Rules {
		switch {
		case name != "max_server_per_host" || value < 1:
			return g, api.BadRequest("Invalid input for field/attribute rules. Value: %v. %v is not valid under the schema", in.Rules, in.Rules)
		case g.Policy != antiAffinity:
			return g, api.BadRequest("Only anti-affinity policy supports rules.")
		}
		g.Rules = map[string]int{name: int(value)}
	}
	return g, nil
}

func (s *service) createGroup(c *api.Call) error {
	var in groupInput
	if err := c.DecodeIn("server_group", &in); err != nil {
		return err
	}
	g, err := in.group(c)
	if err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		used := s.model.GroupsOf.Count(tx, g.ProjectID)
		if _, over := s.quota.Exceeded(tx, g.ProjectID, "server_groups", used, 1); over {
			return api.Forbidden("Quota exceeded, too many server groups.")
		}
		s.model.Groups.Put(tx, g)
		return c.Reply(http.StatusOK, map[string]any{"server_group": s.groupView(c, tx, g)})
	})
}

// deleteGroup also takes the servers out of the group; they stay.
func (s *service) deleteGroup(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		g, err := s.group(c, tx, c.Path("id"))
		if err != nil {
			return err
		}
		for v := range s.model.ServersIn.Each(tx, g.ID) {
			s.model.Servers.Change(tx, v.ID, func(v *model.Server) { v.GroupID = "" })
		}
		s.model.Groups.Delete(tx, g.ID)
		return c.Reply(http.StatusNoContent, nil)
	})
}
