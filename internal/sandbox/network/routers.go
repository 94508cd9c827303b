package network

import (
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// routerView is a router as clients see it; ha and distributed are for
// administrators.
type routerView struct {
	model.Router
	shown
	HA            *bool           `json:"ha,omitempty"`
	Distributed   *bool           `json:"distributed,omitempty"`
	Zones         []string        `json:"availability_zones"`
	NDP           *bool           `json:"enable_ndp_proxy"`
	Gateways      []model.Gateway `json:"external_gateways"`
	GatewayPortID *string         `json:"gw_port_id,omitempty"`
}

func (n *Core) routers() resource[model.Router, routerView] {
	return resource[model.Router, routerView]{
		core: n, one: "router", many: "routers", path: "/v2.0/routers",
		table: n.model.Routers, of: n.model.RoutersOf,
		meta: func(v *model.Router) *model.NetworkMeta { return &v.NetworkMeta },
		missing: func(id string) error {
			return api.Errorf(http.StatusNotFound, "RouterNotFound", "Router %s could not be found", id)
		},
		view: n.viewRouter, create: n.createRouter, update: n.updateRouter, remove: n.deleteRouter,
	}
}

func (n *Core) routerRoutes() []api.Route {
	action := func(name string, handle api.Handler) api.Route {
		return api.Route{Pattern: "PUT /v2.0/routers/{id}/" + name, Role: api.Member, Handle: handle}
	}
	return append(n.routers().routes(),
		action("add_router_interface", n.addInterface), action("remove_router_interface", n.removeInterface),
		action("add_extraroutes", func(c *api.Call) error { return n.editRoutes(c, mergeRoutes) }),
		action("remove_extraroutes", func(c *api.Call) error { return n.editRoutes(c, subtractRoutes) }),
	)
}

func (n *Core) viewRouter(_ store.Reader, p *api.Principal, v model.Router) routerView {
	v.Routes, v.ZoneHints = list(v.Routes), list(v.ZoneHints)
	view := routerView{Router: v, shown: show(v.NetworkMeta), Zones: []string{zone}, Gateways: []model.Gateway{}}
	if v.Gateway != nil {
		view.Gateways = append(view.Gateways, *v.Gateway)
	}
	if isAdmin(p) {
		view.HA, view.Distributed = &v.HA, &v.Distributed
	}
	return view
}

type routerChange struct {
	Name         api.Optional[string]            `json:"name"`
	Description  api.Optional[string]            `json:"description"`
	AdminStateUp api.Optional[bool]              `json:"admin_state_up"`
	Gateway      api.Optional[gatewayInput]      `json:"external_gateway_info"`
	Routes       api.Optional[[]model.HostRoute] `json:"routes"`
	Distributed  api.Optional[bool]              `json:"distributed"`
	HA           api.Optional[bool]              `json:"ha"`
}

type routerInput struct {
	routerChange
	owned
	ZoneHints api.Optional[[]string] `json:"availability_zone_hints"`
	FlavorID  api.Optional[string]   `json:"flavor_id"`
}

// gatewayInput is the connection to an external network that is wanted.
type gatewayInput struct {
	NetworkID string                        `json:"network_id"`
	SNAT      *bool                         `json:"enable_snat"`
	FixedIPs  api.Optional[[]model.FixedIP] `json:"external_fixed_ips"`
	QoSPolicy *string                       `json:"qos_policy_id"`
}

func (in routerChange) policy(p *api.Principal, action string) error {
	gateway := in.Gateway.Value
	return adminOnly(p, action, attribute{"distributed", in.Distributed.Set}, attribute{"ha", in.HA.Set},
		attribute{"external_gateway_info:enable_snat", gateway.SNAT != nil},
		attribute{"external_gateway_info:external_fixed_ips", addressAsked(gateway)})
}

// addressAsked reports whether the gateway's address is chosen; naming the
// subnet alone is anybody's right.
func addressAsked(in gatewayInput) bool {
	for _, ip := range in.FixedIPs.Value {
		if ip.IPAddress != "" {
			return true
		}
	}
	return false
}

func (in routerChange) apply(v *model.Router) error {
	in.Name.Apply(&v.Name)
	in.Description.Apply(&v.Description)
	in.AdminStateUp.Apply(&v.AdminStateUp)
	in.Distributed.Apply(&v.Distributed)
	in.HA.Apply(&v.HA)
	return lengths(v.Name, v.Description)
}

func (n *Core) createRouter(tx *store.Tx, p *api.Principal, raw json.RawMessage) (model.Router, error) {
	var in routerInput
	var none model.Router
	if err := decodeInto(raw, &in, reflect.TypeFor[routerView](), http.MethodPost); err != nil {
		return none, err
	}
	if err := in.policy(p, "create_router"); err != nil {
		return none, err
	}
	if in.Routes.Set && len(in.Routes.Value) > 0 {
		return none, api.BadRequest("Attribute 'routes' not allowed in POST")
	}
	if err := n.checkZones(in.ZoneHints.Value, "router"); err != nil {
		return none, err
	}
	project, err := in.project(p)
	if err != nil {
		return none, err
	}
	if err := n.reserve(tx, project, "router"); err != nil {
		return none, err
	}
	v := model.Router{NetworkMeta: n.newMeta(project, in.owned), AdminStateUp: true, Status: "ACTIVE",
		ZoneHints: list(in.ZoneHints.Value), Routes: []model.HostRoute{}}
	if err := in.apply(&v); err != nil {
		return none, err
	}
	n.model.Routers.Put(tx, v)
	if in.Gateway.Set && !in.Gateway.Null {
		if err := n.setGateway(tx, p, &v, in.Gateway.Value); err != nil {
			return none, err
		}
	}
	n.model.Routers.Put(tx, v)
	return v, nil
}

func (n *Core) updateRouter(tx *store.Tx, p *api.Principal, old model.Router, raw json.RawMessage) (model.Router, error) {
	var in routerChange
	if err := decodeInto(raw, &in, reflect.TypeFor[routerView](), http.MethodPut); err != nil {
		return old, err
	}
	if err := in.policy(p, "update_router"); err != nil {
		return old, err
	}
	v := old
	if err := in.apply(&v); err != nil {
		return old, err
	}
	if (v.HA != old.HA || v.Distributed != old.Distributed) && v.AdminStateUp {
		return old, badRouter("Cannot change HA attribute of active routers. Please set router admin_state_up to False prior to upgrade.")
	}
	if in.Gateway.Set {
		wanted := in.Gateway.Value
		if in.Gateway.Null {
			wanted = gatewayInput{}
		}
		if err := n.setGateway(tx, p, &v, wanted); err != nil {
			return old, err
		}
	}
	if in.Routes.Set {
		v.Routes = list(in.Routes.Value)
	}
	return v, n.checkRoutes(tx, &v)
}

// deleteRouter refuses while the router has interfaces; its gateway goes with
// it.
func (n *Core) deleteRouter(tx *store.Tx, _ *api.Principal, v model.Router) error {
	for port := range n.interfaces(tx, v.ID) {
		return conflict("RouterInUse", "Router %s has ports still attached: %s", v.ID, port.ID)
	}
	return n.clearGateway(tx, &v)
}
