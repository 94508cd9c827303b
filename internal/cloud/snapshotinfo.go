package cloud

import "time"

// NetworkInfo is a network that the project sees.
type NetworkInfo struct {
	Resource
	ProjectID string `json:"projectID"`
	External  bool   `json:"external,omitempty"`
	Shared    bool   `json:"shared,omitempty"`
	MTU       int    `json:"mtu,omitempty"`
	// Disabled is set if its administrative state is down, as of a router and a port.
	Disabled bool `json:"disabled,omitempty"`
}

// SubnetInfo is a subnet that the project sees.
type SubnetInfo struct {
	Resource
	ProjectID string `json:"projectID"`
	NetworkID string `json:"networkID"`
	CIDR      string `json:"cidr"`
	// Gateway is the address of its gateway; empty if it has none.
	Gateway string `json:"gateway,omitempty"`
	DHCP    bool   `json:"dhcp,omitempty"`
	// NameServers and Routes are what DHCP tells machines; a route is "destination via hop".
	NameServers []string `json:"nameServers,omitempty"`
	Routes      []string `json:"routes,omitempty"`
}

// RouterInfo is a router of the project.
type RouterInfo struct {
	Resource
	// ExternalNetworkID is the network of its gateway, if it has one.
	ExternalNetworkID string `json:"externalNetworkID,omitempty"`
	// Routes are the destinations of its static routes.
	Routes   []string `json:"routes,omitempty"`
	Disabled bool     `json:"disabled,omitempty"`
}

// FloatingIPInfo is a floating IP of the project.
type FloatingIPInfo struct {
	Resource
	Address   string `json:"address"`
	NetworkID string `json:"networkID"`
	PortID    string `json:"portID,omitempty"`
	// Status is Neutron's, such as ACTIVE.
	Status string `json:"status,omitempty"`
}

// ServerInfo is a server of the project.
type ServerInfo struct {
	Resource
	// Flavor is the name that its flavor had when the server got it.
	Flavor string `json:"flavor,omitempty"`
	// Status is Nova's, such as ACTIVE; Task is what it does at the moment.
	Status string `json:"status"`
	Task   string `json:"task,omitempty"`
	// Fault is Nova's message of a server in ERROR, FaultAt its time.
	Fault   string    `json:"fault,omitempty"`
	FaultAt time.Time `json:"faultAt,omitzero"`
	Created time.Time `json:"created,omitzero"`
	Updated time.Time `json:"updated,omitzero"`
	// Locked is set if somebody locked it: its owner cannot delete it then.
	Locked bool `json:"locked,omitempty"`
}

// BalancerInfo is a load balancer of the project, with Octavia's statuses.
type BalancerInfo struct {
	Resource
	Provisioning string `json:"provisioning"`
	Operating    string `json:"operating"`
	// Disabled is set if its administrative state is down.
	Disabled bool      `json:"disabled,omitempty"`
	Created  time.Time `json:"created,omitzero"`
	Updated  time.Time `json:"updated,omitzero"`
	// PortID is of the port that has its address.
	PortID string `json:"portID,omitempty"`
	// Provider is Octavia's name of what balances, such as amphora.
	Provider string `json:"provider,omitempty"`
}

// ListenerInfo is a listener of a load balancer.
type ListenerInfo struct {
	Resource
	// BalancerIDs are of its load balancers, PoolID of its default pool, if it has one.
	BalancerIDs  []string `json:"loadBalancerIDs"`
	PoolID       string   `json:"poolID,omitempty"`
	Port         int      `json:"port"`
	Provisioning string   `json:"provisioning"`
	Disabled     bool     `json:"disabled,omitempty"`
	// AllowedCIDRs are who may connect; none is anybody.
	AllowedCIDRs []string `json:"allowedCIDRs,omitempty"`
}

// PoolInfo is a pool of a load balancer.
type PoolInfo struct {
	Resource
	BalancerIDs  []string `json:"loadBalancerIDs"`
	Members      int      `json:"members"`
	Provisioning string   `json:"provisioning"`
	Disabled     bool     `json:"disabled,omitempty"`
}

// VolumeInfo is a volume of the project. ServerID is of the server that it is attached
// to.
type VolumeInfo struct {
	Resource
	Status   string    `json:"status"`
	ServerID string    `json:"serverID,omitempty"`
	Updated  time.Time `json:"updated,omitzero"`
}

// GroupInfo is a security group of the project, with the ranges of TCP ports that it
// lets in: first and last port, 0 and 65535 for any.
type GroupInfo struct {
	Resource
	Ingress [][2]int `json:"ingress,omitempty"`
	// Sources are those of Ingress, by its index: an address range or the id of a security
	// group; empty is anywhere.
	Sources []string `json:"sources,omitempty"`
	// Egress reports whether it has any rule for what goes out.
	Egress bool `json:"egress,omitempty"`
}

// PortInfo is a port of the project. DeviceID is of its server.
type PortInfo struct {
	Resource
	Status   string `json:"status"`
	DeviceID string `json:"deviceID,omitempty"`
	Up       bool   `json:"up"`
	// Addresses are its fixed IPs.
	Addresses []string `json:"addresses,omitempty"`
	// Groups are the ids of its security groups, Pairs the addresses besides its own that it
	// may send from.
	Groups []string `json:"groups,omitempty"`
	Pairs  []string `json:"pairs,omitempty"`
}

// FlavorInfo is a flavor that the project may use.
type FlavorInfo struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	VCPUs int    `json:"vcpus"`
	// RAM is in MiB, Disk in GiB; a disk of 0 is that of the image.
	RAM  int `json:"ram"`
	Disk int `json:"disk"`
}

// ImageInfo is an image that the project can see.
type ImageInfo struct {
	Resource
	ProjectID string    `json:"projectID"`
	Status    string    `json:"status"`
	CreatedAt time.Time `json:"createdAt"`
	// MinDisk is in GiB, MinRAM in MiB.
	MinDisk int `json:"minDisk"`
	MinRAM  int `json:"minRAM"`
	// Distro and AdminUser are the properties os_distro and os_admin_user.
	Distro    string `json:"osDistro,omitempty"`
	AdminUser string `json:"osAdminUser,omitempty"`
	// Properties are all that are text.
	Properties map[string]string `json:"properties,omitempty"`
	// Unlisted says that lists do not show it unless they are asked to: its name finds nothing.
	Unlisted bool `json:"unlisted,omitempty"`
}

// CredentialInfo is an application credential of the user.
type CredentialInfo struct {
	Resource
	ProjectID string `json:"projectID,omitempty"`
	// Region is that of the environment whose ownership tag the credential has.
	Region       string    `json:"region,omitempty"`
	Unrestricted bool      `json:"unrestricted"`
	ExpiresAt    time.Time `json:"expiresAt,omitzero"`
}

// Quota is a limit of the project and what is used of it; -1 is unlimited.
type Quota struct {
	Service  Service `json:"service"`
	Resource string  `json:"resource"`
	Limit    int     `json:"limit"`
	Used     int     `json:"used"`
}
