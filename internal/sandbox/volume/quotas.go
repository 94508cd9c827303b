package volume

import (
	"encoding/json"
	"net/http"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) quotaRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v3/os-quota-sets/{project}", Role: api.Reader, Handle: s.showQuotas},
		{Pattern: "PUT /v3/os-quota-sets/{project}", Role: api.Admin, Handle: s.updateQuotas},
		{Pattern: "DELETE /v3/os-quota-sets/{project}", Role: api.Admin, Handle: s.resetQuotas},
		{Pattern: "GET /v3/os-quota-sets/{project}/defaults", Role: api.Reader, Handle: s.defaultQuotas},
		{Pattern: "GET /v3/os-quota-class-sets/{class}", Role: api.Admin, Handle: s.classQuotas},
		{Pattern: "GET /v3/limits", Role: api.Reader, Handle: s.showLimits},
	}
}

// ownQuotas refuses the quotas of other projects.
func ownQuotas(c *api.Call) error {
	if !c.Principal.Owns(c.Path("project")) {
		return api.Forbidden("Policy doesn't allow volume_extension:quotas:show to be performed.")
	}
	return nil
}

func (s *service) showQuotas(c *api.Call) error {
	if err := ownQuotas(c); err != nil {
		return err
	}
	return c.View(func(r store.Reader) error {
		project := c.Path("project")
		used := ledger{s.env, project}.used(r)
		set := map[string]any{"id": project}
		for name, limit := range quotas(r, s.env).Limits(r, project) {
			if set[name] = limit; truth(c.Query("usage")) {
				set[name] = map[string]int{"limit": limit, "in_use": used[name], "reserved": 0, "allocated": 0}
			}
		}
		return c.Reply(http.StatusOK, map[string]any{"quota_set": set})
	})
}

func (s *service) defaultQuotas(c *api.Call) error {
	if err := ownQuotas(c); err != nil {
		return err
	}
	return s.defaults(c, "quota_set", c.Path("project"))
}

func (s *service) classQuotas(c *api.Call) error {
	return s.defaults(c, "quota_class_set", c.Path("class"))
}

func (s *service) defaults(c *api.Call, key, id string) error {
	return c.View(func(r store.Reader) error {
		set := map[string]any{"id": id}
		for name, limit := range quotas(r, s.env).Defaults {
			set[name] = limit
		}
		return c.Reply(http.StatusOK, map[string]any{key: set})
	})
}

func (s *service) updateQuotas(c *api.Call) error {
	var in map[string]json.RawMessage
	if err := c.DecodeIn("quota_set", &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		set, project := quotas(tx, s.env), c.Path("project")
		limits := map[string]int{}
		for name, raw := range in {
			if name == "tenant_id" || name == "force" || name == "skip_validation" {
				continue
			}
			if _, known := set.Defaults[name]; !known {
				return api.BadRequest("Bad key(s) in quota set: %s", name)
			}
			var limit number
			if err := json.Unmarshal(raw, &limit); err != nil || limit < -1 {
				return api.BadRequest("Invalid input for field/attribute %s. Value: %s. %s is less than the minimum of -1", name, raw, raw)
			}
			limits[name] = int(limit)
		}
		set.Set(tx, project, limits)
		answer := map[string]any{}
		for name, limit := range set.Limits(tx, project) {
			answer[name] = limit
		}
		return c.Reply(http.StatusOK, map[string]any{"quota_set": answer})
	})
}

func (s *service) resetQuotas(c *api.Call) error {
	return c.Update(func(tx *store.Tx) error {
		quotas(tx, s.env).Reset(tx, c.Path("project"))
		return c.Reply(http.StatusOK, nil)
	})
}

// showLimits are the quotas by the names of an older API.
func (s *service) showLimits(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		project := c.Principal.ProjectID
		if other := c.Query("project_id"); other != "" && c.Principal.Admin() {
			project = other
		}
		limits, used := quotas(r, s.env).Limits(r, project), ledger{s.env, project}.used(r)
		return c.Reply(http.StatusOK, map[string]any{"limits": map[string]any{"rate": []any{}, "absolute": map[string]int{
			"maxTotalVolumes": limits["volumes"], "totalVolumesUsed": used["volumes"],
			"maxTotalVolumeGigabytes": limits["gigabytes"], "totalGigabytesUsed": used["gigabytes"],
			"maxTotalSnapshots": limits["snapshots"], "totalSnapshotsUsed": used["snapshots"],
			"maxTotalBackups": limits["backups"], "totalBackupsUsed": used["backups"],
			"maxTotalBackupGigabytes": limits["backup_gigabytes"], "totalBackupGigabytesUsed": used["backup_gigabytes"],
		}}})
	})
}
