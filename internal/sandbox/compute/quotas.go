package compute

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) quotaRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v2.1/limits", Role: api.Reader, Handle: s.showLimits},
		{Pattern: "GET /v2.1/os-quota-sets/{project}", Role: api.Reader, Handle: s.showQuota},
		{Pattern: "GET /v2.1/os-quota-sets/{project}/detail", Role: api.Reader, Handle: s.showQuotaDetail},
		{Pattern: "GET /v2.1/os-quota-sets/{project}/defaults", Role: api.Reader, Handle: s.showQuotaDefaults},
		{Pattern: "PUT /v2.1/os-quota-sets/{project}", Role: api.Admin, Handle: s.updateQuota},
		{Pattern: "DELETE /v2.1/os-quota-sets/{project}", Role: api.Admin, Handle: s.resetQuota},
		{Pattern: "GET /v2.1/os-quota-class-sets/{class}", Role: api.Admin, Handle: s.showQuotaClass},
	}
}

// networkQuota returns the resources of Neutron for which Nova shows a quota up to 2.35: no limit,
// unless one was set, which has no effect.
func networkQuota() []string {
	return []string{"fixed_ips", "floating_ips", "security_groups", "security_group_rules"}
}

// usage returns how much a project uses of the resources with a limited number.
func (s *service) usage(r store.Reader, project string) map[string]int {
	var l load
	for v := range s.model.ServersOf.Each(r, project) {
		if v.TaskState != taskDeleting {
			l.add(v.Flavor)
		}
	}
	return map[string]int{"instances": l.servers, "cores": l.vcpus, "ram": l.ram,
		"server_groups": s.model.GroupsOf.Count(r, project)}
}

// room returns an error unless the project may have that much more; the message names every
// resource that is short.
func (s *service) room(r store.Reader, project string, more map[string]int) error {
	used := s.usage(r, project)
	var over, asked, have, allowed []string
	for _, resource := range []string{"cores", "instances", "ram"} {
		if more[resource] <= 0 {
			continue
		}
		limit, exceeded := s.quota.Exceeded(r, project, resource, used[resource], more[resource])
		if !exceeded {
			continue
		}
		over = append(over, resource)
		asked = append(asked, strconv.Itoa(more[resource]))
		have = append(have, strconv.Itoa(used[resource]))
		allowed = append(allowed, strconv.Itoa(limit))
	}
	if len(over) == 0 {
		return nil
	}
	list := func(words []string) string { return strings.Join(words, ", ") }
	return api.Forbidden("Quota exceeded for %s: Requested %s, but already used %s of %s %s",
		list(over), list(asked), list(have), list(allowed), list(over))
}

// shownQuota returns the limits that a version shows.
func shownQuota(c *api.Call, limits map[string]int) map[string]int {
	shown := map[string]int{}
	for name, limit := range limits {
		late := c.Version.AtLeast(2, 57) && strings.HasPrefix(name, "injected_file")
		if !late && !slices.Contains(networkQuota(), name) {
			shown[name] = limit
		}
	}
	if !c.Version.AtLeast(2, 36) {
		for _, name := range networkQuota() {
			limit, set := limits[name]
			if !set {
				limit = -1
			}
			shown[name] = limit
		}
	}
	return shown
}

func quotaView(c *api.Call, id string, limits map[string]int) map[string]any {
	set := map[string]any{}
	if id != "" {
		set["id"] = id
	}
	for name, limit := range shownQuota(c, limits) {
		set[name] = limit
	}
	return map[string]any{"quota_set": set}
}

func quotaOwner(c *api.Call) error {
	if c.Principal.Owns(c.Path("project")) {
		return nil
	}
	return api.Forbidden("Policy doesn't allow os_compute_api:os-quota-sets:show to be performed.")
}

func (s *service) showQuota(c *api.Call) error {
	if err := quotaOwner(c); err != nil {
		return err
	}
	return c.View(func(r store.Reader) error {
		id := c.Path("project")
		return c.Reply(http.StatusOK, quotaView(c, id, s.quota.Limits(r, id)))
	})
}

func (s *service) showQuotaDefaults(c *api.Call) error {
	return c.Reply(http.StatusOK, quotaView(c, c.Path("project"), defaultQuota()))
}

func (s *service) showQuotaClass(c *api.Call) error {
	set := map[string]any{"id": c.Path("class")}
	for name, limit := range shownQuota(c, defaultQuota()) {
		set[name] = limit
	}
	return c.Reply(http.StatusOK, map[string]any{"quota_class_set": set})
}

func (s *service) showQuotaDetail(c *api.Call) error {
	if err := quotaOwner(c); err != nil {
		return err
	}
	return c.View(func(r store.Reader) error {
		id := c.Path("project")
		used := s.usage(r, id)
		used["key_pairs"] = 0 // Nova counts them by user and tells 0 here
		set := map[string]any{"id": id}
		for name, limit := range shownQuota(c, s.quota.Limits(r, id)) {
			set[name] = map[string]int{"limit": limit, "in_use": used[name], "reserved": 0}
		}
		return c.Reply(http.StatusOK, map[string]any{"quota_set": set})
	})
}

func (s *service) updateQuota(c *api.Call) error {
	var in map[string]json.RawMessage
	if err := c.DecodeIn("quota_set", &in); err != nil {
		return err
	}
	force := string(in["force"]) == "true"
	delete(in, "force")
	delete(in, "tenant_id")
	limits := map[string]int{}
	for name, value := range in {
		limit, err := strconv.Atoi(strings.Trim(string(value), `"`)) // as a number or as text
		_, known := defaultQuota()[name]
		switch {
		case !known && (c.Version.AtLeast(2, 36) || !slices.Contains(networkQuota(), name)):
			return api.BadRequest("Invalid input for field/attribute quota_set. Value: %s. Additional properties are not allowed (%q was unexpected)", value, name)
		case err != nil || limit < -1:
			return api.BadRequest("Invalid input for field/attribute %s. Value: %s. %s is less than the minimum of -1", name, value, value)
		default:
			limits[name] = limit
		}
	}
	return c.Update(func(tx *store.Tx) error {
		id := c.Path("project")
		if _, ok := s.env.Model.Identity.Projects.Get(tx, id); !ok {
			return api.BadRequest("Project ID %s is not a valid project.", id)
		}
		used := s.usage(tx, id)
		for name, limit := range limits {
			if !force && limit >= 0 && limit < used[name] {
				return api.BadRequest("Quota limit %d for %s must be greater than or equal to already used and reserved %d.", limit, name, used[name])
			}
		}
		s.quota.Set(tx, id, limits)
		return c.Reply(http.StatusOK, quotaView(c, "", s.quota.Limits(tx, id)))
	})
}

func (s *service) resetQuota(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		s.quota.Reset(tx, c.Path("project"))
		return c.Reply(http.StatusAccepted, nil)
	})
}

func (s *service) showLimits(c *api.Call) error {
	project := c.Principal.ProjectID
	if asked := c.Query("tenant_id"); asked != "" && asked != project {
		if !c.Principal.Admin() {
			return api.Forbidden("Policy doesn't allow os_compute_api:limits:other_project to be performed.")
		}
		project = asked
	}
	return c.View(func(r store.Reader) error {
		limits, used := s.quota.Limits(r, project), s.usage(r, project)
		absolute := map[string]int{
			"maxTotalInstances": limits["instances"], "totalInstancesUsed": used["instances"],
			"maxTotalCores": limits["cores"], "totalCoresUsed": used["cores"],
			"maxTotalRAMSize": limits["ram"], "totalRAMUsed": used["ram"],
			"maxServerMeta": limits["metadata_items"], "maxTotalKeypairs": limits["key_pairs"],
			"maxServerGroups": limits["server_groups"], "totalServerGroupsUsed": used["server_groups"],
			"maxServerGroupMembers": limits["server_group_members"],
		}
		addOldLimits(c.Version, absolute, limits)
		return c.Reply(http.StatusOK, map[string]any{"limits": map[string]any{"rate": []any{}, "absolute": absolute}})
	})
}

func addOldLimits(v api.Microversion, absolute, limits map[string]int) {
	if !v.AtLeast(2, 36) {
		for _, name := range []string{"maxSecurityGroups", "maxSecurityGroupRules", "maxTotalFloatingIps"} {
			absolute[name] = -1
		}
		absolute["totalSecurityGroupsUsed"], absolute["totalFloatingIpsUsed"] = 0, 0
	}
	if !v.AtLeast(2, 39) {
		absolute["maxImageMeta"] = limits["metadata_items"]
	}
	if !v.AtLeast(2, 57) {
		absolute["maxPersonality"], absolute["maxPersonalitySize"] = limits["injected_files"], limits["injected_file_content_bytes"]
	}
}

// demand returns what servers of a flavor need.
func demand(f model.Flavor, count int) map[string]int {
	return map[string]int{"instances": count, "cores": count * f.VCPUs, "ram": count * f.RAM}
}
