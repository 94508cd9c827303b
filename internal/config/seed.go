package config

import "net/netip"

// The roles of the seed.
const (
	RolePermanent = "permanent"
	RolePivot     = "pivot"
)

// The providers of the seed.
const (
	ProviderOpenStack = "openstack"
	ProviderKind      = "kind"
)

// Seed is what runs Cluster API first.
type Seed struct {
	// What the seed is. `openstack`: a server in the project. `kind`: a container on your machine, made by the library of kind with Docker, Podman or
	// nerdctl. It creates the management cluster, moves all Cluster API objects there and is deleted; `up` and `down` make it again when they need it. The
	// environment then has no seed server, so the settings of that server are refused. You cannot change it for an existing environment.
	Provider string `json:"provider" default:"openstack" schema:"enum=openstack|kind"`
	// Role of the seed once the management cluster is ready. `permanent`: Cluster API on the seed keeps managing the management cluster. `pivot`: the
	// Cluster API objects are pivoted to the management cluster, which is then self-managed, and the seed can be shelved. You can change this later; the
	// objects are then pivoted, or pivoted back.
	Role string `json:"role" default:"permanent" schema:"enum=permanent|pivot"`
	// Image of the server, by name or ID; if several active images have the name, the newest is used. Any cloud image with systemd and cloud-init will do: what it lacks is brought over SSH. Empty: the bundle's own image, uploaded once as a private image.
	// With `provider: kind` it is the node image, such as `kindest/node:v1.34.3`, which Docker or Podman fetches. Empty: the bundle's own.
	Image string `json:"image,omitempty"`
	// Flavor, by name or ID. Empty: the flavor with the least memory that has at least 2 vCPUs, 8 GiB of memory and, without
	// `rootVolume`, 20 GB of disk.
	Flavor string `json:"flavor,omitempty"`
	// Availability zone of the server. Empty: the scheduler chooses.
	AvailabilityZone string `json:"availabilityZone,omitempty"`
	// The network of the seed.
	Network Network `json:"network"`
	// Network, by name or ID, that your machine reaches directly. The seed's first network interface is on it, and Slipway connects
	// to the seed over it; the seed then has no floating IP. Empty: the seed has one interface only.
	ProvisioningNetwork string `json:"provisioningNetwork,omitempty"`
	// The address at which you reach the seed from outside.
	FloatingIP FloatingIP `json:"floatingIP"`
	// Which address ranges may reach which ports of the seed.
	Access Access `json:"access"`
	// SSH login on the seed.
	SSH SSH `json:"ssh"`
	// Boot from a volume, which is deleted with the server. Empty: boot from the flavor's disk.
	RootVolume *RootVolume `json:"rootVolume,omitempty"`
	// The volume with all data of k3s: Kubernetes objects and images. It outlives the server.
	DataVolume DataVolume `json:"dataVolume"`
	// k3s, the Kubernetes on the seed.
	K3s K3s `json:"k3s"`
}

// Network is the network of the seed: an existing one or a new one.
type Network struct {
	// Existing network to use, by name or ID. It must have a route to OpenStack's APIs. Slipway then creates no network, subnet or router, and you
	// cannot use the other network settings except `subnet`. Empty: Slipway creates a network.
	Existing string `json:"existing,omitempty"`
	// Subnet of the existing network for the seed's address, by name or ID. Empty: Neutron chooses.
	Subnet string `json:"subnet,omitempty"`
	// Address range of the new network.
	CIDR netip.Prefix `json:"cidr,omitzero" default:"192.168.100.0/24" schema:"format=cidr"`
	// Address of the router. Empty: the first address of the range.
	GatewayIP netip.Addr `json:"gatewayIP,omitzero" schema:"format=ip"`
	// Ranges from which servers get addresses. Empty: the whole range.
	AllocationPools []AllocationPool `json:"allocationPools,omitempty"`
	// Addresses of DNS servers for machines. Empty: the cloud's own.
	DNSNameservers []netip.Addr `json:"dnsNameservers,omitempty" schema:"format=ip"`
	// MTU in bytes. 0: the cloud chooses.
	MTU int `json:"mtu,omitempty" schema:"min=1280,max=9216,zero"`
	// Availability zones of Neutron for network and router, if the cloud has the extension.
	AvailabilityZoneHints []string `json:"availabilityZoneHints,omitempty"`
}

// AllocationPool is a range of addresses, both ends included.
type AllocationPool struct {
	// First address.
	Start netip.Addr `json:"start" schema:"required,format=ip"`
	// Last address.
	End netip.Addr `json:"end" schema:"required,format=ip"`
}

// FloatingIP is how the seed gets an address that you reach from outside.
type FloatingIP struct {
	// `auto`: the seed gets a floating IP, unless it has a provisioning network. `none`: it gets none, and your machine must reach its fixed address.
	Mode string `json:"mode" default:"auto" schema:"enum=auto|none"`
	// Existing floating IP of the project, by its address. Slipway associates it and never deletes it. Empty: Slipway creates one.
	Address netip.Addr `json:"address,omitzero" schema:"format=ip"`
	// External network (pool) of a new floating IP, by name or ID. Empty: `externalNetwork`.
	Pool string `json:"pool,omitempty"`
}

// Access is which ports of the seed are open, and to which address ranges. All other ports are closed.
type Access struct {
	// Address ranges that may use SSH (port 22). The default is all addresses; name the ranges of your operators instead.
	SSHCIDRs []netip.Prefix `json:"sshCIDRs" default:"[0.0.0.0/0]" schema:"format=cidr"`
	// Address ranges that may reach the Kubernetes API (port 6443). An empty list closes the port; `slipway` reaches the API through SSH.
	APICIDRs []netip.Prefix `json:"apiCIDRs" default:"[0.0.0.0/0]" schema:"format=cidr"`
	// Additional open ports.
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
	// Address ranges that may reach the ports.
	CIDRs []netip.Prefix `json:"cidrs" schema:"required,format=cidr"`
}

// SSH is the login on the seed.
type SSH struct {
	// Login user of the image. Empty: the image's property `os_admin_user`, else the usual user of its `os_distro`:
	// `ubuntu`, `debian`, and so on.
	User string `json:"user,omitempty"`
	// Your existing Nova key pair. Empty: Slipway creates one for the environment.
	KeyPair string `json:"keyPair,omitempty"`
	// File with the private key of `keyPair`. Empty: the SSH agent provides it.
	IdentityFile File `json:"identityFile,omitempty"`
	// Public keys of other people who may log in, as lines of authorized_keys.
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

// DataVolume is the volume with the data that must outlive the server.
type DataVolume struct {
	// Size in GiB. You can increase it later, while the seed is running, but not reduce it.
	SizeGiB int `json:"sizeGiB" default:"50" schema:"min=10,max=16384"`
	// Volume type. Empty: the cloud's default.
	Type string `json:"type,omitempty"`
	// Availability zone of the block storage service. Empty: the cloud's choice.
	AvailabilityZone string `json:"availabilityZone,omitempty"`
}

// K3s is the Kubernetes of the seed.
type K3s struct {
	// Address range of pods.
	PodCIDR netip.Prefix `json:"podCIDR" default:"10.42.0.0/16" schema:"format=cidr"`
	// Address range of Services.
	ServiceCIDR netip.Prefix `json:"serviceCIDR" default:"10.43.0.0/16" schema:"format=cidr"`
	// Additional settings of the k3s server, named as in k3s's configuration file, without leading dashes, such as
	// `kubelet-arg: ["max-pods=200"]`. Settings that Slipway makes itself (`data-dir`, `tls-san`, `token` and others) are refused.
	Config map[string]any `json:"config,omitempty"`
}

// IsLocal reports whether the seed is a container on the operator's machine.
func (s Seed) IsLocal() bool { return s.Provider == ProviderKind }
