package compute

import (
	"net/http"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) usageRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v2.1/os-simple-tenant-usage", Role: api.Admin, Handle: s.listUsage},
		{Pattern: "GET /v2.1/os-simple-tenant-usage/{project}", Role: api.Reader, Handle: s.showUsage},
	}
}

// period returns the time that a usage report covers: the last four weeks unless the query says
// otherwise.
func (s *service) period(c *api.Call) (from, to time.Time, err error) {
	to = s.env.Timing.Now()
	from = to.AddDate(0, 0, -28)
	for name, target := range map[string]*time.Time{"start": &from, "end": &to} {
		text := c.Query(name)
		if text == "" {
			continue
		}
		at, err := parseTime(text)
		if err != nil {
			return from, to, api.BadRequest("Datetime is in invalid format")
		}
		*target = at
	}
	if from.After(to) {
		return from, to, api.BadRequest("Invalid start time. The start time cannot occur after the end time.")
	}
	return from, to, nil
}

// parseTime reads the formats of times that clients send.
func parseTime(text string) (time.Time, error) {
	var at time.Time
	var err error
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999", "2006-01-02 15:04:05.999999", "2006-01-02"} {
		if at, err = time.Parse(form, text); err == nil {
			return at.UTC(), nil
		}
	}
	return at, err
}

// report sums up the servers of a project in a period.
func (s *service) report(r store.Reader, project string, from, to time.Time, detailed bool) (map[string]any, bool) {
	var hours, cpu, ram, disk float64
	list := []any{}
	for v := range s.model.ServersOf.Each(r, project) {
		begin := v.CreatedAt
		if v.LaunchedAt != nil {
			begin = *v.LaunchedAt
		}
		if begin.After(to) {
			continue
		}
		h := to.Sub(later(begin, from)).Hours()
		hours += h
		cpu += h * float64(v.Flavor.VCPUs)
		ram += h * float64(v.Flavor.RAM)
		disk += h * float64(v.Flavor.Disk+v.Flavor.Ephemeral)
		list = append(list, usageOf(v, begin, to, h))
	}
	report := map[string]any{"tenant_id": project, "start": from.Format(micros), "stop": to.Format(micros),
		"total_hours": hours, "total_vcpus_usage": cpu, "total_memory_mb_usage": ram, "total_local_gb_usage": disk}
	if detailed {
		report["server_usages"] = list
	}
	return report, len(list) > 0
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func usageOf(v model.Server, begin, to time.Time, hours float64) map[string]any {
	return map[string]any{"name": v.Name, "instance_id": v.ID, "tenant_id": v.ProjectID, "flavor": v.Flavor.Name,
		"vcpus": v.Flavor.VCPUs, "memory_mb": v.Flavor.RAM, "local_gb": v.Flavor.Disk + v.Flavor.Ephemeral,
		"hours": hours, "started_at": begin.Format(micros), "ended_at": nil, "state": v.VMState,
		"uptime": int(to.Sub(begin).Seconds())}
}

func (s *service) listUsage(c *api.Call) error {
	from, to, err := s.period(c)
	if err != nil {
		return err
	}
	return c.View(func(r store.Reader) error {
		list := []any{}
		for project := range s.env.Model.Identity.Projects.All(r) {
			if report, found := s.report(r, project.ID, from, to, c.Query("detailed") == "1"); found {
				list = append(list, report)
			}
		}
		return c.Reply(http.StatusOK, map[string]any{"tenant_usages": list})
	})
}

func (s *service) showUsage(c *api.Call) error {
	from, to, err := s.period(c)
	if err != nil {
		return err
	}
	if !c.Principal.Owns(c.Path("project")) {
		return api.Forbidden("Policy doesn't allow os_compute_api:os-simple-tenant-usage:show to be performed.")
	}
	return c.View(func(r store.Reader) error {
		report, found := s.report(r, c.Path("project"), from, to, true)
		if !found {
			report = map[string]any{}
		}
		return c.Reply(http.StatusOK, map[string]any{"tenant_usage": report})
	})
}
