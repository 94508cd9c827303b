package model

// SecurityGroup is a set of rules that ports share.
type SecurityGroup struct {
	NetworkMeta
	Name     string `json:"name"`
	Stateful bool   `json:"stateful"`
}

// SecurityGroupRule lets traffic through. A nil field matches everything; of
// the remotes one is set at most. Protocol is a name or a number as text.
// PortMin and PortMax are type and code for ICMP.
type SecurityGroupRule struct {
	NetworkMeta
	GroupID       string  `json:"security_group_id"`
	Direction     string  `json:"direction"`
	EtherType     string  `json:"ethertype"`
	Protocol      *string `json:"protocol"`
	PortMin       *int    `json:"port_range_min"`
	PortMax       *int    `json:"port_range_max"`
	RemotePrefix  *string `json:"remote_ip_prefix"`
	RemoteGroup   *string `json:"remote_group_id"`
	RemoteAddress *string `json:"remote_address_group_id"`
}

// AddressGroup is a set of prefixes that rules share.
type AddressGroup struct {
	NetworkMeta
	Name      string   `json:"name"`
	Addresses []string `json:"addresses"`
}

// RBACPolicy gives an object to another project; Target "*" is all. Action is
// "access_as_shared" or "access_as_external".
type RBACPolicy struct {
	NetworkMeta
	ObjectType string `json:"object_type"`
	ObjectID   string `json:"object_id"`
	Action     string `json:"action"`
	Target     string `json:"target_tenant"`
}

// Trunk carries the networks of its sub ports, with VLAN tags, over one port.
type Trunk struct {
	NetworkMeta
	Name         string    `json:"name"`
	AdminStateUp bool      `json:"admin_state_up"`
	Status       string    `json:"status"`
	PortID       string    `json:"port_id"`
	SubPorts     []SubPort `json:"sub_ports"`
}

// SubPort is a port of a trunk and its tag.
type SubPort struct {
	PortID           string `json:"port_id"`
	SegmentationType string `json:"segmentation_type"`
	SegmentationID   int    `json:"segmentation_id"`
}

// SubnetPool is a set of prefixes from which subnets are taken.
type SubnetPool struct {
	NetworkMeta
	Name           string   `json:"name"`
	Prefixes       []string `json:"prefixes"`
	IPVersion      int      `json:"ip_version"`
	MinPrefixLen   int      `json:"min_prefixlen"`
	MaxPrefixLen   int      `json:"max_prefixlen"`
	DefaultLen     int      `json:"default_prefixlen"`
	DefaultQuota   *int     `json:"default_quota"`
	AddressScopeID *string  `json:"address_scope_id"`
	IsDefault      bool     `json:"is_default"`
}

// AddressScope says which subnet pools may be routed without translation.
type AddressScope struct {
	NetworkMeta
	Name      string `json:"name"`
	IPVersion int    `json:"ip_version"`
}

// NetworkSegment is a segment of a network.
type NetworkSegment struct {
	NetworkMeta
	Name         string  `json:"name"`
	NetworkID    string  `json:"network_id"`
	ProviderType string  `json:"network_type"`
	Physical     *string `json:"physical_network"`
	Segmentation *int    `json:"segmentation_id"`
}

// QoSPolicy limits the bandwidth of ports and networks.
type QoSPolicy struct {
	NetworkMeta
	Name      string    `json:"name"`
	IsDefault bool      `json:"is_default"`
	Rules     []QoSRule `json:"rules"`
}

// QoSRule is one rule of a policy. Type is "bandwidth_limit", "dscp_marking"
// or "minimum_bandwidth", and says which of the values count.
type QoSRule struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Direction string `json:"direction,omitempty"`
	MaxKBps   int    `json:"max_kbps,omitempty"`
	MaxBurst  int    `json:"max_burst_kbps,omitempty"`
	MinKBps   int    `json:"min_kbps,omitempty"`
	DSCPMark  int    `json:"dscp_mark,omitempty"`
}
