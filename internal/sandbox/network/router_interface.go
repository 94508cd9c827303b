package network

import (
	"iter"
	"net/http"
	"net/netip"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// interfaceInput names an interface by subnet or by port.
type interfaceInput struct {
	SubnetID string `json:"subnet_id"`
	PortID   string `json:"port_id"`
}

// interfaceView is the answer to adding and removing an interface.
type interfaceView struct {
	ID        string   `json:"id"`
	TenantID  string   `json:"tenant_id"`
	ProjectID string   `json:"project_id,omitempty"`
	PortID    string   `json:"port_id"`
	NetworkID string   `json:"network_id"`
	SubnetID  string   `json:"subnet_id"`
	SubnetIDs []string `json:"subnet_ids"`
	Tags      []string `json:"tags"`
}

func newInterfaceView(v model.Router, port model.Port) interfaceView {
	view := interfaceView{ID: v.ID, TenantID: v.ProjectID, ProjectID: v.ProjectID, PortID: port.ID, NetworkID: port.NetworkID,
		SubnetIDs: []string{}, Tags: list(v.Tags)}
	for _, ip := range port.FixedIPs {
		if !slices.Contains(view.SubnetIDs, ip.SubnetID) {
			view.SubnetIDs = append(view.SubnetIDs, ip.SubnetID)
		}
	}
	if len(view.SubnetIDs) > 0 {
		view.SubnetID = view.SubnetIDs[0]
	}
	return view
}

// interfaces are the ports by which a router is on its networks, without the
// gateway.
func (n *Core) interfaces(r store.Reader, routerID string) iter.Seq[model.Port] {
	return func(yield func(model.Port) bool) {
		for port := range n.model.PortsOfDevice.Each(r, routerID) {
			if port.DeviceOwner == model.OwnerRouterInterface && !yield(port) {
				return
			}
		}
	}
}

// reaches reports whether an address is in a subnet of one of the ports.
func (n *Core) reaches(r store.Reader, ports []model.Port, text string) bool {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return false
	}
	for _, port := range ports {
		for _, ip := range port.FixedIPs {
			subnet, ok := n.model.Subnets.Get(r, ip.SubnetID)
			if ok && netip.MustParsePrefix(subnet.CIDR).Contains(address) {
				return true
			}
		}
	}
	return false
}

func (n *Core) addInterface(c *api.Call) error {
	var in interfaceInput
	if err := c.Decode(&in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		router, err := n.routers().change(tx, c, "add_router_interface_of")
		if err != nil {
			return err
		}
		var port model.Port
		switch {
		case in.PortID != "" && in.SubnetID != "":
			return badRouter("Cannot specify both subnet-id and port-id.")
		case in.PortID != "":
			port, err = n.plugPort(tx, c.Principal, router, in.PortID)
		case in.SubnetID != "":
			port, err = n.plugSubnet(tx, c.Principal, router, in.SubnetID)
		default:
			return badRouter("Either subnet_id or port_id must be specified.")
		}
		if err != nil {
			return err
		}
		n.touchRouter(tx, router.ID)
		return c.Reply(http.StatusOK, newInterfaceView(router, port))
	})
}

func (n *Core) touchRouter(tx *store.Tx, id string) {
	n.model.Routers.Change(tx, id, func(router *model.Router) { n.touch(&router.NetworkMeta) })
}

// plugSubnet gives the router the gateway's address in a subnet. Subnets of
// IPv6 share the router's port on their network.
func (n *Core) plugSubnet(tx *store.Tx, p *api.Principal, router model.Router, subnetID string) (model.Port, error) {
	subnet, err := n.subnets().find(tx, p, subnetID)
	if err != nil {
		return model.Port{}, err
	}
	if subnet.Gateway == nil {
		return model.Port{}, badRouter("Subnet for router interface must have a gateway IP.")
	}
	ips := []model.FixedIP{{SubnetID: subnet.ID, IPAddress: *subnet.Gateway}}
	if err := n.overlapsInterfaces(tx, router.ID, ips); err != nil {
		return model.Port{}, err
	}
	if subnet.IPVersion == 6 {
		for port := range n.interfaces(tx, router.ID) {
			if port.NetworkID == subnet.NetworkID && n.versionOf(tx, port) == 6 {
				return n.extendInterface(tx, port, ips)
			}
		}
	}
	network, _ := n.model.Networks.Get(tx, subnet.NetworkID)
	port := n.newPort(network, router.ProjectID, owned{})
	port.DeviceID, port.DeviceOwner = router.ID, model.OwnerRouterInterface
	var said portChange
	said.FixedIPs.Set, said.FixedIPs.Value = true, ips
	if err := n.reserve(tx, router.ProjectID, "port"); err != nil {
		return port, err
	}
	return n.addPort(tx, nil, port, said)
}

func (n *Core) versionOf(r store.Reader, port model.Port) int {
	for _, ip := range port.FixedIPs {
		if subnet, ok := n.model.Subnets.Get(r, ip.SubnetID); ok {
			return subnet.IPVersion
		}
	}
	return 0
}

func (n *Core) extendInterface(tx *store.Tx, port model.Port, more []model.FixedIP) (model.Port, error) {
	ips, err := n.takeAddresses(tx, port, more, nil)
	if err != nil {
		return port, err
	}
	n.model.Ports.Change(tx, port.ID, func(port *model.Port) {
		port.FixedIPs = append(port.FixedIPs, ips...)
		n.touch(&port.NetworkMeta)
	})
	port, _ = n.model.Ports.Get(tx, port.ID)
	return port, nil
}

// plugPort makes an existing port an interface.
func (n *Core) plugPort(tx *store.Tx, p *api.Principal, router model.Router, portID string) (model.Port, error) {
	port, err := n.ports().find(tx, p, portID)
	if err != nil {
		return port, err
	}
	if port.DeviceID != "" {
		return port, conflict("PortInUse", "Unable to complete operation on port %s for network %s. Port already has an attached device %s.",
			port.ID, port.NetworkID, port.DeviceID)
	}
	if len(port.FixedIPs) == 0 {
		return port, badRouter("Router port must have at least one fixed IP.")
	}
	if err := n.overlapsInterfaces(tx, router.ID, port.FixedIPs); err != nil {
		return port, err
	}
	n.model.Ports.Change(tx, portID, func(port *model.Port) {
		port.DeviceID, port.DeviceOwner = router.ID, model.OwnerRouterInterface
		port.Groups, port.AllowedPairs, port.PortSecurity = []string{}, []model.AddressPair{}, false
		n.settle(port)
		n.touch(&port.NetworkMeta)
	})
	port, _ = n.model.Ports.Get(tx, portID)
	return port, nil
}

// overlapsInterfaces refuses a second port in a subnet of the router, or in
// one whose addresses overlap.
func (n *Core) overlapsInterfaces(r store.Reader, routerID string, ips []model.FixedIP) error {
	for port := range n.model.PortsOfDevice.Each(r, routerID) {
		for _, has := range port.FixedIPs {
			if port.DeviceOwner == model.OwnerRouterGateway && slices.Contains(ips, has) {
				continue // the gateway that is being made, which may have several addresses of a subnet
			}
			for _, ip := range ips {
				if has.SubnetID == ip.SubnetID {
					return badRouter("Router already has a port on subnet %s.", ip.SubnetID)
				}
				old, _ := n.model.Subnets.Get(r, has.SubnetID)
				added, _ := n.model.Subnets.Get(r, ip.SubnetID)
				if old.NetworkID != added.NetworkID && netip.MustParsePrefix(old.CIDR).Overlaps(netip.MustParsePrefix(added.CIDR)) {
					return badRouter("Cidr %s of subnet %s overlaps with cidr %s of subnet %s.",
						added.CIDR, added.ID, old.CIDR, old.ID)
				}
			}
		}
	}
	return nil
}
