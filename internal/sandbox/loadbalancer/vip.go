package loadbalancer

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/network"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// vipInput says where a load balancer's address is to be.
type vipInput struct {
	Address   api.Optional[string]                `json:"vip_address"`
	PortID    api.Optional[string]                `json:"vip_port_id"`
	SubnetID  api.Optional[string]                `json:"vip_subnet_id"`
	NetworkID api.Optional[string]                `json:"vip_network_id"`
	Qos       api.Optional[string]                `json:"vip_qos_policy_id"`
	VNIC      api.Optional[string]                `json:"vip_vnic_type"`
	More      api.Optional[[]model.AdditionalVIP] `json:"additional_vips"`
}

// placeVIP finds or makes the port of a new load balancer and fills in where
// its address is.
func (s *service) placeVIP(c *api.Call, tx *store.Tx, lb *model.LoadBalancer, in vipInput) error {
	lb.AdditionalVIPs, lb.VIPVNICType = []model.AdditionalVIP{}, in.VNIC.Or("normal")
	setPointer(&lb.VIPQosPolicyID, in.Qos)
	if in.Address.Or("") != "" {
		if err := address("vip_address", in.Address.Value); err != nil {
			return err
		}
	}
	if in.PortID.Or("") != "" {
		return s.usePort(c, tx, lb, in)
	}
	subnet, err := s.chooseSubnet(c, tx, in)
	if err != nil {
		return err
	}
	spec := network.PortSpec{ProjectID: lb.ProjectID, NetworkID: subnet.NetworkID, Name: PortPrefix + lb.ID,
		FixedIPs: []model.FixedIP{{SubnetID: subnet.ID, IPAddress: in.Address.Or("")}}, Binding: binding(lb.ID)}
	for _, more := range in.More.Value {
		other, err := s.ports.Subnet(tx, c.Principal, more.SubnetID)
		if err != nil {
			return missingPart("Subnet", more.SubnetID)
		}
		if other.NetworkID != subnet.NetworkID {
			return validation("All VIP subnets must belong to the same network.")
		}
		spec.FixedIPs = append(spec.FixedIPs, model.FixedIP{SubnetID: more.SubnetID, IPAddress: more.IPAddress})
	}
	port, err := s.ports.Allocate(tx, c.Principal, spec)
	if err != nil {
		return refusedPort(err)
	}
	lb.OwnsPort = true
	takeAddresses(lb, port)
	return nil
}

// refusedPort returns Neutron's refusal of a port in Octavia's words: 400 and 409 are an error in
// the caller's request, any other status is passed on.
func refusedPort(err error) error {
	var e *api.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Status {
	case http.StatusConflict, http.StatusBadRequest:
		return validation("%s", e.Message)
	}
	return api.Errorf(e.Status, "", "Error creating the VIP port: %s", e.Message)
}

// chooseSubnet finds the subnet of a VIP: the one that is named, or the one
// of the network that holds the address, or its first with IPv4.
func (s *service) chooseSubnet(c *api.Call, r store.Reader, in vipInput) (model.Subnet, error) {
	var none model.Subnet
	ip, network := in.Address.Or(""), in.NetworkID.Or("")
	if id := in.SubnetID.Or(""); id != "" {
		subnet, err := s.ports.Subnet(r, c.Principal, id)
		switch {
		case err != nil:
			return none, missingPart("Subnet", id)
		case network != "" && network != subnet.NetworkID:
			return none, validation("Supplied VIP subnet %s does not belong to network %s.", id, network)
		case ip != "" && !holds(subnet, ip):
			return none, validation("Supplied VIP address %s is not in subnet %s.", ip, id)
		}
		return subnet, nil
	}
	if network == "" {
		return none, validation("VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.")
	}
	if _, err := s.ports.Network(r, c.Principal, network); err != nil {
		return none, missingPart("Network", network)
	}
	subnets := s.ports.SubnetsOf(r, network)
	fits := func(v model.Subnet) bool { return v.IPVersion == 4 }
	if ip != "" {
		fits = func(v model.Subnet) bool { return holds(v, ip) }
	}
	if i := slices.IndexFunc(subnets, fits); i >= 0 {
		return subnets[i], nil
	}
	if ip != "" || len(subnets) == 0 {
		return none, validation("Supplied network %s does not contain a subnet for the VIP.", network)
	}
	return subnets[0], nil
}

func holds(subnet model.Subnet, ip string) bool {
	prefix, err := netip.ParsePrefix(subnet.CIDR)
	addr, wrong := netip.ParseAddr(ip)
	return err == nil && wrong == nil && prefix.Contains(addr)
}

// usePort takes a port that the user made.
func (s *service) usePort(c *api.Call, tx *store.Tx, lb *model.LoadBalancer, in vipInput) error {
	port, err := s.ports.Port(tx, c.Principal, in.PortID.Value)
	if err != nil {
		return missingPart("Port", in.PortID.Value)
	}
	if port.DeviceID != "" {
		return validation("VIP port's device_id must be empty; port %s is used by %s.", port.ID, port.DeviceID)
	}
	at := slices.IndexFunc(port.FixedIPs, func(f model.FixedIP) bool {
		return (in.Address.Or("") == "" || in.Address.Value == f.IPAddress) &&
			(in.SubnetID.Or("") == "" || in.SubnetID.Value == f.SubnetID)
	})
	if at < 0 {
		return validation("Specified VIP address or subnet is not one of port %s.", port.ID)
	}
	if len(port.FixedIPs) > 1 && in.Address.Or("") == "" && in.SubnetID.Or("") == "" {
		return validation("VIP port's subnet could not be determined. Please specify either a VIP subnet or address.")
	}
	port.FixedIPs = slices.Clone(port.FixedIPs)
	port.FixedIPs[0], port.FixedIPs[at] = port.FixedIPs[at], port.FixedIPs[0]
	takeAddresses(lb, port)
	if _, err := s.ports.Bind(tx, port.ID, binding(lb.ID)); err != nil {
		return refusedPort(err)
	}
	return nil
}

// takeAddresses writes a port's addresses down, the first one as the VIP.
func takeAddresses(lb *model.LoadBalancer, port model.Port) {
	lb.VIPPortID, lb.VIPNetworkID = port.ID, port.NetworkID
	for i, f := range port.FixedIPs {
		if i == 0 {
			lb.VIPAddress, lb.VIPSubnetID = f.IPAddress, f.SubnetID
			continue
		}
		lb.AdditionalVIPs = append(lb.AdditionalVIPs, model.AdditionalVIP{SubnetID: f.SubnetID, IPAddress: f.IPAddress})
	}
}
