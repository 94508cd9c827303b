package compute

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

const (
	// defaultZone has the hosts that no aggregate puts in another zone.
	defaultZone  = "nova"
	internalZone = "internal"
)

func (s *service) zoneRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v2.1/os-availability-zone", Role: api.Reader, Handle: s.listZones},
		{Pattern: "GET /v2.1/os-availability-zone/detail", Role: api.Admin, Handle: s.listZoneDetails},
	}
}

// zone is the availability zone of a host.
func (s *service) zone(r store.Reader, host string) string {
	for a := range s.model.Aggregates.All(r) {
		if name := a.Metadata["availability_zone"]; name != "" && slices.Contains(a.Hosts, host) {
			return name
		}
	}
	return defaultZone
}

// zones are the zones that have hosts, with the hosts.
func (s *service) zones(r store.Reader) (names []string, hosts map[string][]model.ComputeHost) {
	hosts = map[string][]model.ComputeHost{}
	for h := range s.model.Hosts.All(r) {
		zone := s.zone(r, h.Name)
		hosts[zone] = append(hosts[zone], h)
		if !slices.Contains(names, zone) {
			names = append(names, zone)
		}
	}
	slices.Sort(names)
	return names, hosts
}

func usable(h model.ComputeHost) bool { return !h.Disabled && !h.ForcedDown }

func (s *service) listZones(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		names, hosts := s.zones(r)
		list := []any{}
		for _, name := range names {
			list = append(list, map[string]any{"zoneName": name, "hosts": nil,
				"zoneState": map[string]bool{"available": slices.ContainsFunc(hosts[name], usable)}})
		}
		return c.Reply(http.StatusOK, map[string]any{"availabilityZoneInfo": list})
	})
}

func (s *service) listZoneDetails(c *api.Call) error {
	return c.View(func(r store.Reader) error {
		now := s.env.Timing.Now().Format(micros)
		state := func(up bool) map[string]any {
			return map[string]any{"available": up, "active": up, "updated_at": now}
		}
		names, hosts := s.zones(r)
		list := []any{map[string]any{"zoneName": internalZone, "zoneState": map[string]bool{"available": true},
			"hosts": map[string]any{controller: map[string]any{"nova-scheduler": state(true), "nova-conductor": state(true)}}}}
		for _, name := range names {
			services := map[string]any{}
			for _, h := range hosts[name] {
				services[h.Name] = map[string]any{"nova-compute": state(usable(h))}
			}
			list = append(list, map[string]any{"zoneName": name, "hosts": services,
				"zoneState": map[string]bool{"available": slices.ContainsFunc(hosts[name], usable)}})
		}
		return c.Reply(http.StatusOK, map[string]any{"availabilityZoneInfo": list})
	})
}
