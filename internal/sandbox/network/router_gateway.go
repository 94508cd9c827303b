package network

import (
	"net/http"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// setGateway connects a router to the network that is wanted, changes the
// connection, or removes it when none is wanted.
func (n *Core) setGateway(tx *store.Tx, p *api.Principal, v *model.Router, in gatewayInput) error {
	if in.NetworkID == "" {
		return n.clearGateway(tx, v)
	}
	network, err := n.networks().find(tx, p, in.NetworkID)
	if err != nil {
		return err
	}
	if !network.External {
		return badRouter("Network %s is not an external network.", network.ID)
	}
	if v.Gateway != nil && v.Gateway.NetworkID != network.ID {
		if err := n.clearGateway(tx, v); err != nil {
			return err
		}
	}
	if v.Gateway == nil {
		if err := n.connect(tx, v, network, in); err != nil {
			return err
		}
	} else if in.FixedIPs.Set {
		if err := n.readdress(tx, v, in.FixedIPs.Value); err != nil {
			return err
		}
	}
	if in.SNAT != nil {
		gateway := *v.Gateway // that of the record stays as it is if the change is refused
		gateway.SNAT = *in.SNAT
		v.Gateway = &gateway
	}
	return nil
}

// connect makes the router's port on the external network. The port belongs
// to no project.
func (n *Core) connect(tx *store.Tx, v *model.Router, network model.Network, in gatewayInput) error {
	for port := range n.interfaces(tx, v.ID) {
		if port.NetworkID == network.ID {
			return badRouter("Router already has a port on the external network %s.", network.ID)
		}
	}
	port := n.newPort(network, "", owned{})
	port.DeviceID, port.DeviceOwner = v.ID, model.OwnerRouterGateway
	var said portChange
	said.FixedIPs.Set, said.FixedIPs.Null, said.FixedIPs.Value = true, len(in.FixedIPs.Value) == 0, in.FixedIPs.Value
	port, err := n.addPort(tx, nil, port, said)
	if err != nil {
		return err
	}
	if len(port.FixedIPs) == 0 {
		return badRouter("No eligible external subnet on network %s.", network.ID)
	}
	if err := n.overlapsInterfaces(tx, v.ID, port.FixedIPs); err != nil {
		return err
	}
	v.GatewayPortID = port.ID
	v.Gateway = &model.Gateway{NetworkID: network.ID, SNAT: true, FixedIPs: port.FixedIPs}
	return nil
}

// readdress changes the addresses of a gateway.
func (n *Core) readdress(tx *store.Tx, v *model.Router, asked []model.FixedIP) error {
	port, ok := n.model.Ports.Get(tx, v.GatewayPortID)
	if !ok || len(asked) == 0 || satisfied(port.FixedIPs, asked) {
		return nil
	}
	ips, err := n.takeAddresses(tx, port, asked, port.FixedIPs)
	if err != nil {
		return err
	}
	n.model.Ports.Change(tx, port.ID, func(port *model.Port) {
		port.FixedIPs = ips
		n.touch(&port.NetworkMeta)
	})
	gateway := *v.Gateway
	gateway.FixedIPs = ips
	v.Gateway = &gateway
	return nil
}

// satisfied reports whether the addresses held are those asked for: every one
// is named, and a subnet without address is any of it.
func satisfied(held, asked []model.FixedIP) bool {
	fits := func(has, wanted model.FixedIP) bool {
		return (wanted.SubnetID == "" || wanted.SubnetID == has.SubnetID) && (wanted.IPAddress == "" || sameAddress(wanted.IPAddress, has.IPAddress))
	}
	for _, wanted := range asked {
		if !slices.ContainsFunc(held, func(has model.FixedIP) bool { return fits(has, wanted) }) {
			return false
		}
	}
	for _, has := range held {
		if !slices.ContainsFunc(asked, func(wanted model.FixedIP) bool { return fits(has, wanted) }) {
			return false
		}
	}
	return true
}

// clearGateway removes the connection, unless floating IPs need it.
func (n *Core) clearGateway(tx *store.Tx, v *model.Router) error {
	if v.Gateway == nil {
		return nil
	}
	for range n.model.FloatingIPsOfRouter.Each(tx, v.ID) {
		return conflict("RouterExternalGatewayInUseByFloatingIp",
			"Gateway cannot be updated for router %s, since a gateway to external network %s is required by one or more floating IPs.", v.ID, v.Gateway.NetworkID)
	}
	for forwarding := range n.model.Forwardings.All(tx) {
		if forwarding.RouterID == v.ID {
			return conflict("RouterExternalGatewayInUseByFloatingIp",
				"Gateway cannot be updated for router %s, since a gateway to external network %s is required by one or more floating IPs.", v.ID, v.Gateway.NetworkID)
		}
	}
	n.model.Ports.Delete(tx, v.GatewayPortID)
	v.Gateway, v.GatewayPortID = nil, ""
	return nil
}

// checkRoutes checks the extra routes of a router against its ports.
func (n *Core) checkRoutes(r store.Reader, v *model.Router) error {
	if len(v.Routes) > maxRoutes {
		return api.Errorf(http.StatusBadRequest, "RoutesExhausted",
			"Unable to complete operation for %s. The number of routes exceeds the maximum %d.", v.ID, maxRoutes)
	}
	ports := slices.Collect(n.interfaces(r, v.ID))
	if gateway, ok := n.model.Ports.Get(r, v.GatewayPortID); ok {
		ports = append(ports, gateway)
	}
	for i, route := range v.Routes {
		destination, hop, err := parseRoute("routes", route)
		if err != nil {
			return err
		}
		if slices.Contains(v.Routes[:i], route) {
			return api.BadRequest("Invalid input for routes. Reason: Duplicate hostroute '%s via %s'.", route.Destination, route.NextHop)
		}
		if destination.Bits() > 0 && hop.Is4() != destination.Addr().Is4() {
			return badRoutes(route, "the nexthop and the destination are of different IP versions")
		}
		if !n.reaches(r, ports, route.NextHop) {
			return badRoutes(route, "the nexthop is not connected with router")
		}
		for _, port := range ports {
			if anyAddress(port.FixedIPs, "ip_address", []string{route.NextHop}) {
				return badRoutes(route, "the nexthop is used by router")
			}
		}
	}
	return nil
}

func badRoutes(route model.HostRoute, reason string) error {
	return api.Errorf(http.StatusBadRequest, "InvalidRoutes", "Invalid format for routes: [{'destination': '%s', 'nexthop': '%s'}], %s",
		route.Destination, route.NextHop, reason)
}

func badRouter(format string, args ...any) error {
	return api.Errorf(http.StatusBadRequest, "BadRequest", "Bad router request: "+format, args...)
}
