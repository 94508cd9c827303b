package model

import (
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/transition"
)

// NetworkMeta is what every resource of the network service has.
type NetworkMeta struct {
	ID          string    `json:"id"`
	ProjectID   string    `json:"project_id"`
	Description string    `json:"description"`
	Tags        []string  `json:"tags"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	Revision    int       `json:"revision_number"`
}

// Meta returns the common part of a resource.
func (m *NetworkMeta) Meta() *NetworkMeta { return m }

// Network is a layer 2 network.
type Network struct {
	NetworkMeta
	Name         string   `json:"name"`
	AdminStateUp bool     `json:"admin_state_up"`
	Status       string   `json:"status"`
	External     bool     `json:"router:external"`
	IsDefault    bool     `json:"is_default"`
	MTU          int      `json:"mtu"`
	PortSecurity bool     `json:"port_security_enabled"`
	DNSDomain    string   `json:"dns_domain"`
	ZoneHints    []string `json:"availability_zone_hints"`
	QoSPolicyID  *string  `json:"qos_policy_id"`
	// ProviderType is "geneve", "vlan" or "flat"; Physical and Segmentation
	// are nil where the type has none.
	ProviderType string  `json:"provider:network_type"`
	Physical     *string `json:"provider:physical_network"`
	Segmentation *int    `json:"provider:segmentation_id"`
	// Segments is set when the network has several instead of one.
	Segments []ProviderSegment `json:"segments,omitempty"`
}

// ProviderSegment is one of several segments of a network.
type ProviderSegment struct {
	ProviderType string  `json:"provider:network_type"`
	Physical     *string `json:"provider:physical_network"`
	Segmentation *int    `json:"provider:segmentation_id"`
}

// Subnet is a range of addresses of a network. Gateway nil is none.
type Subnet struct {
	NetworkMeta
	Name         string           `json:"name"`
	NetworkID    string           `json:"network_id"`
	IPVersion    int              `json:"ip_version"`
	CIDR         string           `json:"cidr"`
	Gateway      *string          `json:"gateway_ip"`
	Pools        []AllocationPool `json:"allocation_pools"`
	Nameservers  []string         `json:"dns_nameservers"`
	HostRoutes   []HostRoute      `json:"host_routes"`
	DHCP         bool             `json:"enable_dhcp"`
	RAMode       *string          `json:"ipv6_ra_mode"`
	AddressMode  *string          `json:"ipv6_address_mode"`
	SubnetPoolID *string          `json:"subnetpool_id"`
	SegmentID    *string          `json:"segment_id"`
	ServiceTypes []string         `json:"service_types"`
	PublishDNS   bool             `json:"dns_publish_fixed_ip"`
}

// AllocationPool is a range of addresses, both ends included.
type AllocationPool struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

// HostRoute is a static route of a subnet or a router.
type HostRoute struct {
	Destination string `json:"destination"`
	NextHop     string `json:"nexthop"`
}

// The owners of ports that the network service itself knows.
const (
	OwnerRouterInterface = "network:router_interface"
	OwnerRouterGateway   = "network:router_gateway"
	OwnerFloatingIP      = "network:floatingip"
	OwnerTrunkSubPort    = "trunk:subport"
)

// Port is a network card, or an address that is set aside: a floating IP has
// one on the external network, a router one for its gateway and for every
// interface. A card exists where HostID is set and DeviceOwner begins with
// "compute:".
type Port struct {
	NetworkMeta
	Name         string        `json:"name"`
	NetworkID    string        `json:"network_id"`
	AdminStateUp bool          `json:"admin_state_up"`
	Status       string        `json:"status"`
	MAC          string        `json:"mac_address"`
	FixedIPs     []FixedIP     `json:"fixed_ips"`
	DeviceID     string        `json:"device_id"`
	DeviceOwner  string        `json:"device_owner"`
	Groups       []string      `json:"security_groups"`
	PortSecurity bool          `json:"port_security_enabled"`
	AllowedPairs []AddressPair `json:"allowed_address_pairs"`
	DHCPOptions  []DHCPOption  `json:"extra_dhcp_opts"`
	DNSName      string        `json:"dns_name"`
	DNSDomain    string        `json:"dns_domain"`
	QoSPolicyID  *string       `json:"qos_policy_id"`
	Propagate    bool          `json:"propagate_uplink_status"`

	HostID   string         `json:"binding:host_id"`
	VNICType string         `json:"binding:vnic_type"`
	Profile  map[string]any `json:"binding:profile"`

	// Pending is the change of Status under way.
	Pending *transition.Pending `json:"pending,omitempty"`
}

// FixedIP is an address of a port in a subnet.
type FixedIP struct {
	SubnetID  string `json:"subnet_id"`
	IPAddress string `json:"ip_address"`
}

// AddressPair is what a port may send from besides its own addresses;
// IPAddress is an address or a prefix.
type AddressPair struct {
	IPAddress string `json:"ip_address"`
	MAC       string `json:"mac_address"`
}

// DHCPOption is an option that DHCP tells this port.
type DHCPOption struct {
	Name      string `json:"opt_name"`
	Value     string `json:"opt_value"`
	IPVersion int    `json:"ip_version"`
}

// Router connects networks. Its interfaces are the ports with its id as
// DeviceID.
type Router struct {
	NetworkMeta
	Name         string      `json:"name"`
	AdminStateUp bool        `json:"admin_state_up"`
	Status       string      `json:"status"`
	Gateway      *Gateway    `json:"external_gateway_info"`
	Routes       []HostRoute `json:"routes"`
	HA           bool        `json:"ha"`
	Distributed  bool        `json:"distributed"`
	ZoneHints    []string    `json:"availability_zone_hints"`
	FlavorID     *string     `json:"flavor_id"`
	// GatewayPortID is the router's port on the external network; it exists
	// as long as Gateway.
	GatewayPortID string `json:"gw_port_id,omitempty"`
}

// Gateway is a router's connection to an external network.
type Gateway struct {
	NetworkID string    `json:"network_id"`
	SNAT      bool      `json:"enable_snat"`
	FixedIPs  []FixedIP `json:"external_fixed_ips"`
}

// FloatingIP is an address of an external network that is translated to a
// fixed one, at RouterID. PortID, FixedIP and RouterID are set together.
type FloatingIP struct {
	NetworkMeta
	NetworkID   string  `json:"floating_network_id"`
	IPAddress   string  `json:"floating_ip_address"`
	PortID      *string `json:"port_id"`
	FixedIP     *string `json:"fixed_ip_address"`
	RouterID    *string `json:"router_id"`
	Status      string  `json:"status"`
	DNSName     string  `json:"dns_name"`
	DNSDomain   string  `json:"dns_domain"`
	QoSPolicyID *string `json:"qos_policy_id"`
	// OwnPortID is the port that sets the address aside on the network.
	OwnPortID string `json:"own_port_id"`

	Pending *transition.Pending `json:"pending,omitempty"`
}

// PortForwarding translates one port, or a range, of a floating IP that is
// not associated. Ranges are "from:to".
type PortForwarding struct {
	NetworkMeta
	FloatingIPID   string `json:"floatingip_id"`
	Protocol       string `json:"protocol"`
	InternalPortID string `json:"internal_port_id"`
	InternalIP     string `json:"internal_ip_address"`
	InternalRange  string `json:"internal_port_range"`
	ExternalRange  string `json:"external_port_range"`
	RouterID       string `json:"router_id"`
}
