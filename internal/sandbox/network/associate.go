package network

import (
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// associate lets a floating IP lead to a port, in the record only.
func (n *Core) associate(tx *store.Tx, p *api.Principal, v *model.FloatingIP, portID, fixed string) error {
	for range n.model.ForwardingsOfFloatingIP.Each(tx, v.ID) {
		return forwarded(*v)
	}
	port, err := n.ports().find(tx, p, portID)
	if err != nil {
		return err
	}
	ip, err := n.fixedFor(tx, port, fixed)
	if err != nil {
		return err
	}
	routerID, err := n.routerFor(tx, *v, port, ip)
	if err != nil {
		return err
	}
	for other := range n.model.FloatingIPsOfPort.Each(tx, port.ID) {
		if other.ID != v.ID && text(other.FixedIP) == ip.IPAddress && other.NetworkID == v.NetworkID {
			return conflict("FloatingIPPortAlreadyAssociated",
				"Cannot associate floating IP %s (%s) with port %s using fixed IP %s, as that fixed IP already has a floating IP on external network %s.",
				v.IPAddress, v.ID, port.ID, ip.IPAddress, v.NetworkID)
		}
	}
	v.PortID, v.FixedIP, v.RouterID = &port.ID, &ip.IPAddress, &routerID
	if v.Status != "ACTIVE" {
		v.Pending = n.env.Timing.Start("ACTIVE", time.Second)
	}
	n.touchRouter(tx, routerID)
	return nil
}

// disassociate takes the port from a floating IP, in the record only.
func (n *Core) disassociate(tx *store.Tx, v *model.FloatingIP) {
	if v.RouterID != nil {
		n.touchRouter(tx, *v.RouterID)
	}
	v.PortID, v.FixedIP, v.RouterID, v.Pending, v.Status = nil, nil, nil, nil, "DOWN"
}

// fixedFor is the address of the port that is meant: the one said, or the
// only one of IPv4.
func (n *Core) fixedFor(r store.Reader, port model.Port, fixed string) (model.FixedIP, error) {
	var candidates []model.FixedIP
	for _, ip := range port.FixedIPs {
		address, err := netip.ParseAddr(ip.IPAddress)
		switch {
		case err != nil || !address.Is4():
		case fixed == "":
			candidates = append(candidates, ip)
		case sameAddress(ip.IPAddress, fixed):
			return ip, nil
		}
	}
	switch {
	case fixed != "":
		return model.FixedIP{}, badFloating("Port %s does not have fixed ip %s.", port.ID, fixed)
	case len(candidates) == 0:
		return model.FixedIP{}, badFloating("Cannot add floating IP to port %s that has no fixed IPv4 addresses.", port.ID)
	case len(candidates) > 1:
		return model.FixedIP{}, badFloating("Port %s has multiple fixed IPv4 addresses. Must provide a specific IPv4 address when assigning a floating IP.", port.ID)
	}
	return candidates[0], nil
}

// routerFor finds the router that is on the port's subnet and on the floating
// IP's network; one that has the subnet's gateway address is preferred.
func (n *Core) routerFor(r store.Reader, v model.FloatingIP, port model.Port, ip model.FixedIP) (string, error) {
	subnet, _ := n.model.Subnets.Get(r, ip.SubnetID)
	found := ""
	for own := range n.model.PortsOfSubnet.Each(r, ip.SubnetID) {
		router, ok := n.model.Routers.Get(r, own.DeviceID)
		if !ok || own.DeviceOwner != model.OwnerRouterInterface || router.Gateway == nil || router.Gateway.NetworkID != v.NetworkID {
			continue
		}
		gateway := slices.Contains(own.FixedIPs, model.FixedIP{SubnetID: subnet.ID, IPAddress: text(subnet.Gateway)})
		if gateway {
			return router.ID, nil
		}
		if found == "" {
			found = router.ID
		}
	}
	if found != "" {
		return found, nil
	}
	return "", api.Errorf(http.StatusNotFound, "ExternalGatewayForFloatingIPNotFound",
		"External network %s is not reachable from subnet %s.  Therefore, cannot associate Port %s with a Floating IP.",
		v.NetworkID, ip.SubnetID, port.ID)
}

func (n *Core) associateByID(tx *store.Tx, p *api.Principal, id, portID, fixed string) error {
	v, err := n.floatingIPs().find(tx, p, id)
	if err != nil {
		return err
	}
	if err := n.associate(tx, p, &v, portID, fixed); err != nil {
		return err
	}
	n.floatingIPs().put1(tx, v)
	return nil
}

func (n *Core) disassociateByID(tx *store.Tx, id string) {
	if v, ok := n.model.FloatingIPs.Get(tx, id); ok && v.PortID != nil {
		n.disassociate(tx, &v)
		n.floatingIPs().put1(tx, v)
	}
}

// dropFloating takes away floating IPs that lead to addresses which the port
// does not have any more.
func (n *Core) dropFloating(tx *store.Tx, port model.Port) {
	for floating := range n.model.FloatingIPsOfPort.Each(tx, port.ID) {
		if !anyAddress(port.FixedIPs, "ip_address", []string{text(floating.FixedIP)}) {
			n.disassociateByID(tx, floating.ID)
		}
	}
}

func (n *Core) floatingByAddress(r store.Reader, projectID, address string) (model.FloatingIP, error) {
	for v := range n.model.FloatingIPsByAddress.Each(r, address) {
		if v.ProjectID == projectID {
			return v, nil
		}
	}
	return model.FloatingIP{}, n.floatingIPs().missing(address)
}
