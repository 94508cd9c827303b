package network

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

func (n *Core) allocate(tx *store.Tx, p *api.Principal, spec PortSpec) (model.Port, error) {
	network, err := n.networks().find(tx, p, spec.NetworkID)
	if err != nil {
		return model.Port{}, err
	}
	if !spec.NoQuota {
		if err := n.reserve(tx, spec.ProjectID, "port"); err != nil {
			return model.Port{}, err
		}
	}
	v := n.newPort(network, spec.ProjectID, owned{})
	v.Name, v.Description, v.Tags = spec.Name, spec.Description, list(spec.Tags)
	b := spec.Binding
	v.DeviceID, v.DeviceOwner, v.HostID, v.DNSName = b.DeviceID, b.DeviceOwner, b.HostID, dnsName(b.DNSName)
	var in portChange
	in.FixedIPs.Set, in.FixedIPs.Null, in.FixedIPs.Value = true, spec.FixedIPs == nil, spec.FixedIPs
	if spec.Groups != nil {
		in.Groups.Set, in.Groups.Value = true, spec.Groups
	}
	in.AllowedPairs.Set, in.AllowedPairs.Value = spec.AllowedPairs != nil, spec.AllowedPairs
	in.MAC.Value = spec.MAC
	if err := in.apply(&v); err != nil {
		return v, err
	}
	return n.addPort(tx, p, v, in)
}

// dnsName is a server's name as a label, or nothing if it is none.
func dnsName(name string) string {
	name = strings.ToLower(name)
	if checkDNSName(name) != nil {
		return ""
	}
	return name
}

func (n *Core) bind(tx *store.Tx, portID string, b Binding) (model.Port, error) {
	port, ok := n.model.Ports.Get(tx, portID)
	if !ok {
		return port, n.ports().missing(portID)
	}
	if port.DeviceID != "" && port.DeviceID != b.DeviceID {
		return port, conflict("PortInUse",
			"Unable to complete operation on port %s for network %s. Port already has an attached device %s.", portID, port.NetworkID, port.DeviceID)
	}
	n.model.Ports.Change(tx, portID, func(port *model.Port) {
		port.DeviceID, port.DeviceOwner, port.HostID = b.DeviceID, b.DeviceOwner, b.HostID
		if port.DNSName == "" {
			port.DNSName = dnsName(b.DNSName)
		}
		n.settle(port)
		n.touch(&port.NetworkMeta)
	})
	port, _ = n.model.Ports.Get(tx, portID)
	n.followTrunk(tx, port)
	return port, nil
}

func (n *Core) unbind(tx *store.Tx, portID string) {
	n.model.Ports.Change(tx, portID, func(port *model.Port) {
		port.DeviceID, port.DeviceOwner, port.HostID, port.DNSName, port.Profile = "", "", "", "", nil
		n.settle(port)
		n.touch(&port.NetworkMeta)
	})
	if port, ok := n.model.Ports.Get(tx, portID); ok {
		n.followTrunk(tx, port)
	}
}

func (n *Core) release(tx *store.Tx, portID string) error {
	port, ok := n.model.Ports.Get(tx, portID)
	if !ok {
		return nil
	}
	if err := n.cutPort(tx, port); err != nil {
		return err
	}
	n.model.Ports.Delete(tx, portID)
	return nil
}

func (n *Core) setActive(tx *store.Tx, portID string, active bool) {
	n.model.Ports.Change(tx, portID, func(port *model.Port) {
		port.Pending = nil
		port.Status = "DOWN"
		if active && port.AdminStateUp {
			port.Status = "ACTIVE"
		}
	})
}

func (n *Core) portsOf(r store.Reader, deviceID string) []model.Port {
	var ports []model.Port
	if deviceID == "" {
		return nil
	}
	for port := range n.model.PortsOfDevice.Each(r, deviceID) {
		ports = append(ports, port)
	}
	return ports
}

func (n *Core) available(r store.Reader, projectID string) []model.Network {
	var networks []model.Network
	seen := map[string]bool{}
	add := func(network model.Network) {
		if !seen[network.ID] && n.model.SubnetsOfNetwork.Count(r, network.ID) > 0 {
			seen[network.ID] = true
			networks = append(networks, network)
		}
	}
	for network := range n.model.NetworksOf.Each(r, projectID) {
		add(network)
	}
	for network := range sharedObjects(n, r, n.model.Networks, "network", projectID) {
		if n.isShared(r, network.ID, projectID) {
			add(network)
		}
	}
	return networks
}

func (n *Core) setGroups(tx *store.Tx, portID string, ids []string) error {
	port, ok := n.model.Ports.Get(tx, portID)
	if !ok {
		return n.ports().missing(portID)
	}
	if !port.PortSecurity && len(ids) > 0 {
		return api.Errorf(http.StatusBadRequest, "PortSecurityAndIPRequiredForSecurityGroups",
			"Port security must be enabled and port must have an IP address in order to use security groups.")
	}
	for _, id := range ids {
		if _, ok := n.model.Groups.Get(tx, id); !ok {
			return n.groups().missing(id)
		}
	}
	n.model.Ports.Change(tx, portID, func(port *model.Port) {
		port.Groups = list(ids)
		n.touch(&port.NetworkMeta)
	})
	return nil
}

func (n *Core) addresses(r store.Reader, deviceID string) []Address {
	var found []Address
	for _, port := range n.portsOf(r, deviceID) {
		network, _ := n.model.Networks.Get(r, port.NetworkID)
		for _, ip := range port.FixedIPs {
			found = append(found, newAddress(network, port, ip.IPAddress, false))
			for floating := range n.model.FloatingIPsOfPort.Each(r, port.ID) {
				if text(floating.FixedIP) == ip.IPAddress {
					found = append(found, newAddress(network, port, floating.IPAddress, true))
				}
			}
		}
	}
	return found
}

func newAddress(network model.Network, port model.Port, ip string, floating bool) Address {
	address, _ := netip.ParseAddr(ip)
	return Address{NetworkName: network.Name, IP: ip, Version: version(address), MAC: port.MAC, Floating: floating, PortID: port.ID}
}

func (n *Core) card(r store.Reader, portID string) (machine.Port, bool) {
	port, ok := n.model.Ports.Get(r, portID)
	if !ok {
		return machine.Port{}, false
	}
	network, _ := n.model.Networks.Get(r, port.NetworkID)
	card := machine.Port{ID: port.ID, NetworkID: port.NetworkID, MAC: port.MAC, MTU: network.MTU}
	for _, ip := range port.FixedIPs {
		if subnet, ok := n.model.Subnets.Get(r, ip.SubnetID); ok {
			card.Addresses = append(card.Addresses, cardAddress(subnet, ip.IPAddress))
		}
	}
	return card, true
}

// cardAddress is an address with what its subnet says; everything in a
// subnet's record was checked.
func cardAddress(v model.Subnet, ip string) machine.Address {
	prefix := netip.MustParsePrefix(v.CIDR)
	address := machine.Address{Prefix: netip.PrefixFrom(netip.MustParseAddr(ip), prefix.Bits()), DHCP: v.DHCP}
	if v.Gateway != nil {
		address.Gateway = netip.MustParseAddr(*v.Gateway)
	}
	for _, server := range v.Nameservers {
		address.Nameservers = append(address.Nameservers, netip.MustParseAddr(server))
	}
	for _, route := range v.HostRoutes {
		if destination, hop, err := parseRoute("host_routes", route); err == nil {
			address.Routes = append(address.Routes, machine.Route{Destination: destination, Via: hop})
		}
	}
	return address
}
