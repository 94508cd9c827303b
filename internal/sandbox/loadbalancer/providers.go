package loadbalancer

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
)

// provider is a driver of Octavia's.
type provider struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

func providers() []provider {
	return []provider{
		{"amphora", "The Octavia Amphora driver."},
		{"octavia", "Deprecated alias of the Octavia Amphora driver."},
		{"ovn", "Octavia OVN driver."},
	}
}

func (s *service) providerRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /providers", Role: api.Reader, Handle: listProviders},
		{Pattern: "GET /providers/{name}/flavor_capabilities", Role: api.Admin, Handle: capabilities("flavor_capabilities", flavorCapabilities())},
		{Pattern: "GET /providers/{name}/availability_zone_capabilities", Role: api.Admin,
			Handle: capabilities("availability_zone_capabilities", zoneCapabilities())},
	}
}

func listProviders(c *api.Call) error {
	return api.List[provider]{Key: "providers", ID: func(p provider) string { return p.Name }, Links: api.BothLinks}.
		Reply(c, slices.Values(providers()))
}

func flavorCapabilities() []provider {
	return []provider{
		{"loadbalancer_topology", "The load balancer topology. One of: SINGLE - One amphora per load balancer. ACTIVE_STANDBY - Two amphora per load balancer."},
		{"compute_flavor", "The compute driver flavor ID."},
		{"amp_image_tag", "The amphora image tag."},
		{"sriov_vip", "When true, the VIP port will be created using an SR-IOV VF port."},
	}
}

func zoneCapabilities() []provider {
	return []provider{
		{"compute_zone", "The compute availability zone."},
		{"management_network", "The management network ID for the amphora."},
		{"valid_vip_networks", "List of network IDs that are allowed for VIP use. This overrides/replaces the list of allowed networks configured in `octavia.conf`."},
	}
}

// capabilities are what profiles for a provider may set; OVN has none.
func capabilities(key string, amphora []provider) api.Handler {
	return func(c *api.Call) error {
		list := []provider{}
		switch c.Path("name") {
		case "amphora", "octavia":
			list = amphora
		case "ovn":
		default:
			return api.BadRequest("Provider '%s' is not enabled.", c.Path("name"))
		}
		return api.List[provider]{Key: key, ID: func(p provider) string { return p.Name }}.Reply(c, slices.Values(list))
	}
}

// amphoraRoutes answer that there are no amphorae: nothing runs in servers
// of the cloud's own.
func (s *service) amphoraRoutes() []api.Route {
	none := func(c *api.Call) error { return api.NotFound("Amphora %s not found.", c.Path("id")) }
	return []api.Route{
		{Pattern: "GET /amphorae", Role: api.Admin, Handle: empty("amphorae")},
		{Pattern: "GET /amphorae/{id}", Role: api.Admin, Handle: none},
		{Pattern: "GET /amphorae/{id}/stats", Role: api.Admin, Handle: none},
		{Pattern: "PUT /amphorae/{id}/failover", Role: api.Admin, Handle: none},
		{Pattern: "PUT /amphorae/{id}/config", Role: api.Admin, Handle: none},
	}
}

// policyRoutes answer that there are no L7 policies, and that none can be
// made.
func (s *service) policyRoutes() []api.Route {
	none := func(c *api.Call) error { return api.NotFound("L7 Policy %s not found.", c.Path("id")) }
	return []api.Route{
		{Pattern: "GET /l7policies", Role: api.Reader, Handle: empty("l7policies")},
		{Pattern: "POST /l7policies", Role: api.Member, Handle: func(*api.Call) error {
			return unsupported("amphora", "L7 policies are not supported.")
		}},
		{Pattern: "GET /l7policies/{id}", Role: api.Reader, Handle: none},
		{Pattern: "PUT /l7policies/{id}", Role: api.Member, Handle: none},
		{Pattern: "DELETE /l7policies/{id}", Role: api.Member, Handle: none},
		{Pattern: "GET /l7policies/{id}/rules", Role: api.Reader, Handle: none},
	}
}

func empty(key string) api.Handler {
	return func(c *api.Call) error {
		return c.Reply(http.StatusOK, map[string]any{key: []any{}, key + "_links": []any{}})
	}
}
