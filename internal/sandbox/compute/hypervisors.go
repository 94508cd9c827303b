package compute

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (s *service) hypervisorRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v2.1/os-hypervisors", Role: api.Admin, Handle: func(c *api.Call) error { return s.listHypervisors(c, false) }},
		{Pattern: "GET /v2.1/os-hypervisors/detail", Role: api.Admin, Handle: func(c *api.Call) error { return s.listHypervisors(c, true) }},
		{Pattern: "GET /v2.1/os-hypervisors/statistics", Role: api.Admin, Handle: s.hypervisorStatistics},
		{Pattern: "GET /v2.1/os-hypervisors/{id}", Role: api.Admin, Handle: s.showHypervisor},
		{Pattern: "GET /v2.1/os-hypervisors/{id}/uptime", Role: api.Admin, Handle: s.hypervisorUptime},
		{Pattern: "GET /v2.1/os-hypervisors/{id}/search", Role: api.Admin, Handle: s.searchHypervisors},
		{Pattern: "GET /v2.1/os-hypervisors/{id}/servers", Role: api.Admin, Handle: s.searchHypervisors},
	}
}

// load is what the servers on a host use, in the units of flavors.
type load struct{ servers, vcpus, ram, disk int }

func (l *load) add(f model.Flavor) {
	l.servers++
	l.vcpus += f.VCPUs
	l.ram += f.RAM
	l.disk += f.Disk + f.Ephemeral + f.Swap/1024
}

func (s *service) loadOf(r store.Reader, host string) load {
	var l load
	for v := range s.model.ServersOn.Each(r, host) {
		l.add(v.Flavor)
	}
	return l
}

func hypervisorID(c *api.Call, h model.ComputeHost) any {
	if c.Version.AtLeast(2, 53) {
		return h.ID
	}
	return h.Number
}

func (s *service) hypervisorView(c *api.Call, r store.Reader, h model.ComputeHost, detail bool) map[string]any {
	v := map[string]any{"id": hypervisorID(c, h), "hypervisor_hostname": h.Name, "state": upDown(!h.ForcedDown), "status": enabled(!h.Disabled)}
	withServers := c.Version.AtLeast(2, 53) && strings.EqualFold(c.Query("with_servers"), "true") || c.Version.AtLeast(2, 75)
	if withServers {
		if list := s.serversOn(r, h.Name); len(list) > 0 || c.Version.AtLeast(2, 75) {
			v["servers"] = list
		}
	}
	if !detail {
		return v
	}
	v["host_ip"], v["hypervisor_type"], v["hypervisor_version"] = fmt.Sprintf("192.0.2.%d", 10+h.Number), "QEMU", 8002002
	v["service"] = map[string]any{"id": serviceID(c, h), "host": h.Name, "disabled_reason": orNull(h.DisabledReason)}
	if c.Version.AtLeast(2, 88) {
		v["uptime"] = s.uptime(h)
		return v
	}
	for name, value := range s.statistics(r, h) {
		v[name] = value
	}
	v["cpu_info"] = any(cpuInfo)
	if c.Version.AtLeast(2, 28) {
		v["cpu_info"] = map[string]any{"arch": "x86_64", "model": "qemu64", "vendor": "AMD", "features": []string{},
			"topology": map[string]int{"cores": h.VCPUs, "threads": 1, "sockets": 1}}
	}
	delete(v, "count")
	return v
}

const cpuInfo = `{"arch": "x86_64", "model": "qemu64", "vendor": "AMD", "features": [], "topology": {"cores": 1, "threads": 1, "sockets": 1}}`

func (s *service) statistics(r store.Reader, h model.ComputeHost) map[string]int {
	used := s.loadOf(r, h.Name)
	ram, disk := used.ram, used.disk
	return map[string]int{
		"count": 1, "vcpus": h.VCPUs, "vcpus_used": used.vcpus, "memory_mb": h.RAM, "memory_mb_used": ram,
		"free_ram_mb": h.RAM - ram, "local_gb": h.Disk, "local_gb_used": disk, "free_disk_gb": h.Disk - disk,
		"disk_available_least": h.Disk - disk, "running_vms": used.servers, "current_workload": 0,
	}
}

func (s *service) serversOn(r store.Reader, host string) []map[string]string {
	list := []map[string]string{}
	for v := range s.model.ServersOn.Each(r, host) {
		list = append(list, map[string]string{"uuid": v.ID, "name": instanceName(v)})
	}
	return list
}

func (s *service) listHypervisors(c *api.Call, detail bool) error {
	pattern := c.Query("hypervisor_hostname_pattern")
	return c.View(func(r store.Reader) error {
		list := api.List[model.ComputeHost]{Key: "hypervisors", ID: func(h model.ComputeHost) string { return h.ID },
			Filters: map[string]api.Filter[model.ComputeHost]{
				"hypervisor_hostname_pattern": func(h model.ComputeHost, v []string) bool { return strings.Contains(h.Name, v[0]) },
				"with_servers":                nil},
			Render: func(h model.ComputeHost) any { return s.hypervisorView(c, r, h, detail) }}
		if c.Version.AtLeast(2, 33) {
			list.Links, list.MaxLimit = api.NextLinks, 1000
		}
		found := false
		for h := range s.model.Hosts.All(r) {
			found = found || strings.Contains(h.Name, pattern)
		}
		if !found {
			return api.NotFound("No hypervisor matching '%s' could be found.", pattern)
		}
		return list.Reply(c, s.model.Hosts.All(r))
	})
}

// hypervisor finds a host by the id in the path: a UUID since 2.53.
func (s *service) hypervisor(c *api.Call, r store.Reader) (model.ComputeHost, error) {
	for h := range s.model.Hosts.All(r) {
		if c.Path("id") == h.ID || !c.Version.AtLeast(2, 53) && c.Path("id") == strconv.Itoa(h.Number) {
			return h, nil
		}
	}
	return model.ComputeHost{}, api.NotFound("Hypervisor with ID '%s' could not be found.", c.Path("id"))
}

func (s *service) showHypervisor(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		h, err := s.hypervisor(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"hypervisor": s.hypervisorView(c, r, h, true)})
	})
}

func (s *service) uptime(h model.ComputeHost) string {
	up := s.env.Timing.Now().Sub(h.StartedAt)
	return fmt.Sprintf(" %s up %d days, %d:%02d,  0 users,  load average: 0.00, 0.00, 0.00",
		s.env.Timing.Now().Format("15:04:05"), int(up.Hours())/24, int(up.Hours())%24, int(up.Minutes())%60)
}

func (s *service) hypervisorUptime(c *api.Call) error {
	if c.Version.AtLeast(2, 88) {
		return api.NotFound("The resource could not be found.")
	}
	return c.View(func(r store.Reader) error {
		h, err := s.hypervisor(c, r)
		if err != nil {
			return err
		}
		return c.Reply(http.StatusOK, map[string]any{"hypervisor": map[string]any{"id": hypervisorID(c, h),
			"hypervisor_hostname": h.Name, "state": upDown(!h.ForcedDown), "status": enabled(!h.Disabled), "uptime": s.uptime(h)}})
	})
}

func (s *service) hypervisorStatistics(c *api.Call) error {
	if c.Version.AtLeast(2, 88) {
		return api.NotFound("The resource could not be found.")
	}
	return c.View(func(r store.Reader) error {
		total := map[string]int{}
		for h := range s.model.Hosts.All(r) {
			for name, value := range s.statistics(r, h) {
				total[name] += value
			}
		}
		return c.Reply(http.StatusOK, map[string]any{"hypervisor_statistics": total})
	})
}

// searchHypervisors finds hosts by a part of the name; 2.53 removed it.
func (s *service) searchHypervisors(c *api.Call) error {
	if c.Version.AtLeast(2, 53) {
		return api.NotFound("The resource could not be found.")
	}
	return c.View(func(r store.Reader) error {
		list := []any{}
		for h := range s.model.Hosts.All(r) {
			if !strings.Contains(h.Name, c.Path("id")) {
				continue
			}
			v := s.hypervisorView(c, r, h, false)
			if strings.HasSuffix(c.Request.URL.Path, "/servers") {
				v["servers"] = s.serversOn(r, h.Name)
			}
			list = append(list, v)
		}
		if len(list) == 0 {
			return api.NotFound("No hypervisor matching '%s' could be found.", c.Path("id"))
		}
		return c.Reply(http.StatusOK, map[string]any{"hypervisors": list})
	})
}
