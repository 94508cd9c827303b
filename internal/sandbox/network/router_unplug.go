package network

import (
	"net/http"
	"net/netip"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (n *Core) removeInterface(c *api.Call) error {
	var in interfaceInput
	if err := c.Decode(&in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		router, err := n.routers().change(tx, c, "remove_router_interface_of")
		if err != nil {
			return err
		}
		if in.PortID == "" && in.SubnetID == "" {
			return api.BadRequest("Bad router request: Either subnet_id or port_id must be specified.")
		}
		port, err := n.findInterface(tx, router.ID, in)
		if err != nil {
			return err
		}
		removed := port
		if in.SubnetID != "" {
			removed.FixedIPs = slices.DeleteFunc(slices.Clone(port.FixedIPs), func(ip model.FixedIP) bool { return ip.SubnetID != in.SubnetID })
		}
		if err := n.interfaceNeeded(tx, router, removed); err != nil {
			return err
		}
		n.unplug(tx, port, removed)
		n.touchRouter(tx, router.ID)
		return c.Reply(http.StatusOK, newInterfaceView(router, removed))
	})
}

func (n *Core) findInterface(r store.Reader, routerID string, in interfaceInput) (model.Port, error) {
	for port := range n.interfaces(r, routerID) {
		on := slices.ContainsFunc(port.FixedIPs, func(ip model.FixedIP) bool { return ip.SubnetID == in.SubnetID })
		switch {
		case in.PortID == "" && on:
			return port, nil
		case in.PortID == port.ID && in.SubnetID != "" && !on:
			return port, conflict("SubnetMismatchForPort", "Subnet on port %s does not match the requested subnet %s.", port.ID, in.SubnetID)
		case in.PortID == port.ID:
			return port, nil
		}
	}
	if in.PortID != "" {
		return model.Port{}, api.Errorf(http.StatusNotFound, "RouterInterfaceNotFound",
			"Router %s does not have an interface with id %s", routerID, in.PortID)
	}
	if _, ok := n.model.Subnets.Get(r, in.SubnetID); !ok {
		return model.Port{}, n.subnets().missing(in.SubnetID)
	}
	return model.Port{}, api.Errorf(http.StatusNotFound, "RouterInterfaceNotFoundForSubnet",
		"Router %s has no interface on subnet %s", routerID, in.SubnetID)
}

// interfaceNeeded refuses to remove addresses by which floating IPs or routes
// go.
func (n *Core) interfaceNeeded(r store.Reader, router model.Router, removed model.Port) error {
	for _, ip := range removed.FixedIPs {
		subnet, _ := n.model.Subnets.Get(r, ip.SubnetID)
		for floating := range n.model.FloatingIPsOfRouter.Each(r, router.ID) {
			port, _ := n.model.Ports.Get(r, text(floating.PortID))
			if slices.Contains(port.FixedIPs, model.FixedIP{SubnetID: subnet.ID, IPAddress: text(floating.FixedIP)}) {
				return conflict("RouterInterfaceInUseByFloatingIP",
					"Router interface for subnet %s on router %s cannot be deleted, as it is required by one or more floating IPs.", subnet.ID, router.ID)
			}
		}
		for _, route := range router.Routes {
			hop, err := netip.ParseAddr(route.NextHop)
			if err == nil && netip.MustParsePrefix(subnet.CIDR).Contains(hop) {
				return conflict("RouterInterfaceInUseByRoute",
					"Router interface for subnet %s on router %s cannot be deleted, as it is required by one or more routes.", subnet.ID, router.ID)
			}
		}
	}
	return nil
}

// unplug deletes the port, or only some of its addresses.
func (n *Core) unplug(tx *store.Tx, port, removed model.Port) {
	if len(removed.FixedIPs) == len(port.FixedIPs) {
		n.model.Ports.Delete(tx, port.ID)
		return
	}
	n.model.Ports.Change(tx, port.ID, func(port *model.Port) {
		port.FixedIPs = slices.DeleteFunc(port.FixedIPs, func(ip model.FixedIP) bool { return slices.Contains(removed.FixedIPs, ip) })
		n.touch(&port.NetworkMeta)
	})
}

// editRoutes changes the extra routes without the client having to know those
// of others.
func (n *Core) editRoutes(c *api.Call, edit func(has, said []model.HostRoute) []model.HostRoute) error {
	var in struct {
		Routes []model.HostRoute `json:"routes"`
	}
	if err := c.DecodeIn("router", &in); err != nil {
		return err
	}
	for _, route := range in.Routes {
		if _, _, err := parseRoute("routes", route); err != nil {
			return err
		}
	}
	return c.Update(func(tx *store.Tx) error {
		router, err := n.routers().change(tx, c, "update")
		if err != nil {
			return err
		}
		router.Routes = edit(router.Routes, in.Routes)
		if err := n.checkRoutes(tx, &router); err != nil {
			return err
		}
		n.routers().put1(tx, router)
		return n.routers().replyWith(c, tx, router.ID)
	})
}

func mergeRoutes(has, said []model.HostRoute) []model.HostRoute {
	merged := slices.Clone(has)
	for _, route := range said {
		if !slices.Contains(merged, route) {
			merged = append(merged, route)
		}
	}
	return merged
}

func subtractRoutes(has, said []model.HostRoute) []model.HostRoute {
	return slices.DeleteFunc(slices.Clone(has), func(route model.HostRoute) bool { return slices.Contains(said, route) })
}
