package config

import "net/netip"

// The roles of the seed.
const (
	RolePermanent = "permanent"
	RolePivot     = "pivot"
)

// Seed is the server on which Cluster API runs first.
type Seed struct {
	// What the seed is once the management cluster is there. `permanent`: its Cluster API goes on looking after the management cluster. `pivot`: the
	// objects move to the management cluster, which then looks after itself, and the seed can be shelved. May be changed later: they move, or move back.
	Role string `json:"role" default:"permanent" schema:"enum=permanent|pivot"`
	// Image to boot, by name or ID; of several active images of a name the newest. Empty: the bundle's own, uploaded once as a private image.
	Image string `json:"image,omitempty"`
	// Flavor, by name or ID. Empty: the one with the least memory of those with at least 2 vCPUs, 8 GiB of memory and, unless
	// `rootVolume` is given, 20 GB of disk.
	Flavor string `json:"flavor,omitempty"`
	// Availability zone of the server. Empty: the scheduler's choice.
	AvailabilityZone string `json:"availabilityZone,omitempty"`
	// The network that the seed is on.
	Network Network `json:"network"`
	// Network by name or ID that the operator's machine reaches directly. The seed's first network card is on it and Slipway talks
	// to the seed through it; the seed has no floating IP then. Empty: one card only.
	ProvisioningNetwork string `json:"provisioningNetwork,omitempty"`
	// The address at which the seed is reached from outside.
	FloatingIP FloatingIP `json:"floatingIP"`
	// Who may reach which ports of the seed.
	Access Access `json:"access"`
	// Login on the seed.
	SSH SSH `json:"ssh"`
	// Boot from a volume of its own, deleted with the server. Empty: boot from the flavor's disk.
	RootVolume *RootVolume `json:"rootVolume,omitempty"`
	// The volume with all of k3s: Kubernetes objects and images. It outlives the server.
	DataVolume DataVolume `json:"dataVolume"`
	// k3s, the Kubernetes on the seed.
	K3s K3s `json:"k3s"`
}

// Network is the network of the seed: an existing one, or one that is made.
type Network struct {
	// Existing network to use, by name or ID. It must have a route to OpenStack's APIs. No network, subnet or router is made then, and the other settings of
	// a network cannot be given, except `subnet`. Empty: one is made.
	Existing string `json:"existing,omitempty"`
	// Subnet of the existing network for the seed's address, by name or ID. Empty: Neutron's choice.
	Subnet string `json:"subnet,omitempty"`
	// Range of addresses of the network that is made.
	CIDR netip.Prefix `json:"cidr,omitzero" default:"192.168.100.0/24" schema:"format=cidr"`
	// Address of the router. Empty: the first of the range.
	GatewayIP netip.Addr `json:"gatewayIP,omitzero" schema:"format=ip"`
	// Ranges from which addresses are given to servers. Empty: the whole range.
	AllocationPools []AllocationPool `json:"allocationPools,omitempty"`
	// Addresses of name servers for machines. Empty: the cloud's own.
	DNSNameservers []netip.Addr `json:"dnsNameservers,omitempty" schema:"format=ip"`
	// Greatest size of a packet in bytes. 0: the cloud's choice.
	MTU int `json:"mtu,omitempty" schema:"min=1280,max=9216,zero"`
	// Availability zones of the network service for network and router, if the cloud has the extension.
	AvailabilityZoneHints []string `json:"availabilityZoneHints,omitempty"`
}

// AllocationPool is a range of addresses, both ends included.
type AllocationPool struct {
	// First address.
	Start netip.Addr `json:"start" schema:"required,format=ip"`
	// Last address.
	End netip.Addr `json:"end" schema:"required,format=ip"`
}

// FloatingIP is how the seed gets an address that is reached from outside.
type FloatingIP struct {
	// `auto`: the seed has a floating IP, unless it is on a provisioning network. `none`: it has none; Slipway must reach its own address.
	Mode string `json:"mode" default:"auto" schema:"enum=auto|none"`
	// A floating IP that the project has already, by its address. It is associated, never deleted. Empty: a new one is made.
	Address netip.Addr `json:"address,omitzero" schema:"format=ip"`
	// External network (pool) of a new floating IP, by name or ID. Empty: `externalNetwork`.
	Pool string `json:"pool,omitempty"`
}

// Access is which ports of the seed are open to whom. What is not named here is closed.
type Access struct {
	// Ranges from which SSH (port 22) is open. Name the ranges of your operators instead of the default, which is everyone.
	SSHCIDRs []netip.Prefix `json:"sshCIDRs" default:"[0.0.0.0/0]" schema:"format=cidr"`
	// Ranges from which the Kubernetes API (port 6443) is open. An empty list closes it; `slipway` reaches it through SSH.
	APICIDRs []netip.Prefix `json:"apiCIDRs" default:"[0.0.0.0/0]" schema:"format=cidr"`
	// Further ports.
	Rules []AccessPort `json:"rules,omitempty"`
}

// AccessPort opens ports of the seed.
type AccessPort struct {
	// `tcp` or `udp`.
	Protocol string `json:"protocol" default:"tcp" schema:"enum=tcp|udp"`
	// The port, or the first of a range.
	Port int `json:"port" schema:"required,min=1,max=65535"`
	// The last port of a range. 0: `port` alone.
	EndPort int `json:"endPort,omitempty" schema:"min=1,max=65535,zero"`
	// Ranges from which the ports are open.
	CIDRs []netip.Prefix `json:"cidrs" schema:"required,format=cidr"`
}

// SSH is the login on the seed.
type SSH struct {
	// User that the image has for logins. Empty: what the image's property `os_admin_user` says, else by its `os_distro`:
	// `ubuntu`, `debian`, and so on.
	User string `json:"user,omitempty"`
	// Existing key pair of the operator. Empty: one is made for the environment.
	KeyPair string `json:"keyPair,omitempty"`
	// File with the private key of `keyPair`. Empty: the SSH agent has it.
	IdentityFile File `json:"identityFile,omitempty"`
	// Public keys of further people who may log in, in the form of authorized_keys.
	AuthorizedKeys []string `json:"authorizedKeys,omitempty" schema:"format=sshKey"`
}

// RootVolume is the volume that a server boots from.
type RootVolume struct {
	// Size in GiB.
	SizeGiB int `json:"sizeGiB" default:"40" schema:"min=20,max=16384"`
	// Volume type. Empty: the cloud's default.
	Type string `json:"type,omitempty"`
	// Availability zone of the block storage service. Empty: the cloud's choice.
	AvailabilityZone string `json:"availabilityZone,omitempty"`
}

// DataVolume is the volume that holds what must not be lost with the server.
type DataVolume struct {
	// Size in GiB. It may grow later, while the seed runs, and never shrinks.
	SizeGiB int `json:"sizeGiB" default:"50" schema:"min=10,max=16384"`
	// Volume type. Empty: the cloud's default.
	Type string `json:"type,omitempty"`
	// Availability zone of the block storage service. Empty: the cloud's choice.
	AvailabilityZone string `json:"availabilityZone,omitempty"`
}

// K3s is the Kubernetes of the seed.
type K3s struct {
	// Range of pods' addresses.
	PodCIDR netip.Prefix `json:"podCIDR" default:"10.42.0.0/16" schema:"format=cidr"`
	// Range of services' addresses.
	ServiceCIDR netip.Prefix `json:"serviceCIDR" default:"10.43.0.0/16" schema:"format=cidr"`
	// Further settings of the server, by the names of k3s's own configuration file without dashes in front, such as
	// `kubelet-arg: ["max-pods=200"]`. Those that Slipway decides (`data-dir`, `tls-san`, `token` and the like) are refused.
	Config map[string]any `json:"config,omitempty"`
}
