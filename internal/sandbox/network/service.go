package network

import (
	"net/http"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
)

// New returns the service.
func New(env *api.Env) *api.Service {
	n := NewCore(env)
	versions := api.Versions{Status: http.StatusOK, List: []api.Version{{ID: "v2.0", Status: "CURRENT", Path: "/v2.0/", Updated: "2016-11-18T00:00:00Z"}}}
	return &api.Service{
		Name: "neutron", Type: "network", Prefix: "/networking", Catalog: "/networking", Errors: api.NeutronErrors, Run: n.run,
		Routes: slices.Concat(
			[]api.Route{versions.Routes()[0], {Pattern: "GET /v2.0", Role: api.Public, Handle: listResources}},
			n.networks().routes(), n.subnets().routes(), n.ports().routes(), n.routerRoutes(),
			n.floatingIPs().routes(), n.forwardingRoutes(), n.groups().routes(), n.rules().routes(), n.addressGroupRoutes(),
			n.trunkRoutes(), n.policies().routes(), n.pools().routes(), n.scopes().routes(), n.segments().routes(),
			n.qosRoutes(), n.quotaRoutes(), n.cloudRoutes()),
	}
}

// cloudRoutes tell about the cloud itself.
func (n *Core) cloudRoutes() []api.Route {
	return []api.Route{
		{Pattern: "GET /v2.0/extensions", Role: api.Token, Handle: listExtensions},
		{Pattern: "GET /v2.0/extensions/{alias}", Role: api.Token, Handle: showExtension},
		{Pattern: "GET /v2.0/availability_zones", Role: api.Reader, Handle: n.listZones},
		{Pattern: "GET /v2.0/agents", Role: api.Admin, Handle: n.listAgents},
		{Pattern: "GET /v2.0/agents/{id}", Role: api.Admin, Handle: n.showAgent},
		{Pattern: "GET /v2.0/network-ip-availabilities", Role: api.Admin, Handle: n.listAvailability},
		{Pattern: "GET /v2.0/network-ip-availabilities/{id}", Role: api.Admin, Handle: n.showAvailability},
	}
}

// listResources is the document at /v2.0/.
func listResources(c *api.Call) error {
	resources := []any{}
	for _, pair := range [][2]string{
		{"network", "networks"}, {"subnet", "subnets"}, {"port", "ports"}, {"router", "routers"}, {"floatingip", "floatingips"},
		{"security-group", "security-groups"}, {"security-group-rule", "security-group-rules"}, {"subnetpool", "subnetpools"},
		{"trunk", "trunks"}, {"quota", "quotas"}, {"agent", "agents"}, {"address-scope", "address-scopes"},
		{"address-group", "address-groups"}, {"rbac-policy", "rbac-policies"}, {"extension", "extensions"},
	} {
		resources = append(resources, map[string]any{
			"name": strings.ReplaceAll(pair[0], "-", "_"), "collection": strings.ReplaceAll(pair[1], "-", "_"),
			"links": []api.Link{{Rel: "self", Href: c.URL("/v2.0/" + pair[1])}},
		})
	}
	return c.Reply(http.StatusOK, map[string]any{"resources": resources})
}
