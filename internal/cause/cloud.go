package cause

import "time"

// Cloud is what a project's cloud says at one time.
type Cloud struct {
	// At is when the lists were asked for; zero means at the time of the snapshot. What came
	// into being since is not in them.
	At time.Time `json:"at,omitzero"`
	// Login names the login that was used where no cluster does: an entry of clouds.yaml.
	Login string `json:"login,omitempty"`
	// Project is the id of the project.
	Project string `json:"project,omitempty"`
	// Refused is how a login with the cluster's credential failed; nil if it works.
	Refused *Refusal `json:"refused,omitempty"`
	// Missing are the lists that could not be read; what they would hold is unknown.
	Missing []Unseen `json:"missing,omitempty"`
	// Failing are services that answer with an error of their own, or not at all.
	Failing []Failing `json:"failing,omitempty"`

	Servers        []Server        `json:"servers,omitempty"`
	Balancers      []Balancer      `json:"loadBalancers,omitempty"`
	Ports          []Port          `json:"ports,omitempty"`
	Volumes        []Volume        `json:"volumes,omitempty"`
	Images         []Image         `json:"images,omitempty"`
	Networks       []Network       `json:"networks,omitempty"`
	Subnets        []Subnet        `json:"subnets,omitempty"`
	Routers        []Router        `json:"routers,omitempty"`
	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`
	Quotas         []Quota         `json:"quotas,omitempty"`
	FloatingIPs    []FloatingIP    `json:"floatingIPs,omitempty"`
	Flavors        []Flavor        `json:"flavors,omitempty"`
	KeyPairs       []string        `json:"keyPairs,omitempty"`
	// Rooms are what Placement says of the hosts, for flavors that found none.
	Rooms []Room `json:"rooms,omitempty"`

	index *index // nil unless Indexed was called
}

// The names of the lists, for Cloud.Missing.
const (
	ListServers        = "servers"
	ListBalancers      = "load balancers"
	ListPorts          = "ports"
	ListVolumes        = "volumes"
	ListImages         = "images"
	ListNetworks       = "networks"
	ListRouters        = "routers"
	ListSecurityGroups = "security groups"
	ListQuotas         = "quotas"
	ListFloatingIPs    = "floating IPs"
	ListFlavors        = "flavors"
	ListKeyPairs       = "key pairs"
	ListRooms          = "room on hosts, which Placement knows"
	ListSubnets        = "subnets"
	ListListeners      = "listeners"
	ListPools          = "pools"
)

// Refusal is a login that failed: the status of Keystone's answer, 0 if there was none,
// and the words of the answer or of the network.
type Refusal struct {
	Status int    `json:"status,omitempty"`
	Words  string `json:"words"`
	// Absent is set if there is no credential to log in with, Malformed if it is not complete
	// or has no form that a login can be tried with.
	Absent    bool `json:"absent,omitempty"`
	Malformed bool `json:"malformed,omitempty"`
}

// Silent reports whether Keystone did not answer, or only with an error of its own, which
// it does whoever asks.
func (r Refusal) Silent() bool {
	return r.Status > 404 || r.Status > 0 && r.Status < 400 || r.Status == 0 && !r.Absent && !r.Malformed && !has(r.Words, "x509", "certificate", "no such host")
}

// Failing is a service of the cloud that does not do its work: the HTTP status of its
// answer, 0 if there was none, and its words.
type Failing struct {
	// Service is its name, such as "Nova".
	Service string `json:"service"`
	Status  int    `json:"status,omitempty"`
	Words   string `json:"words"`
}

// Flavor is a flavor of Nova. RAM is in MiB, Disk in GiB.
type Flavor struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	VCPUs int    `json:"vcpus,omitempty"`
	RAM   int    `json:"ram,omitempty"`
	Disk  int    `json:"disk,omitempty"`
}

// Shape is what a server needs of a host: its flavor, whose disk counts unless the root disk
// is a volume.
type Shape struct {
	Flavor   string `json:"flavor"`
	OnVolume bool   `json:"onVolume,omitempty"`
}

// Room is what Placement says of the hosts for a shape: which inventory is short.
type Room struct {
	Shape
	Words string `json:"words"`
}

// Server is a server of Nova.
type Server struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Status is Nova's, such as ACTIVE; Task is what it does at the moment.
	Status string `json:"status"`
	Task   string `json:"task,omitempty"`
	// Fault is Nova's message of a server in ERROR, FaultAt its time.
	Fault   string    `json:"fault,omitempty"`
	FaultAt time.Time `json:"faultAt,omitzero"`
	Created time.Time `json:"created,omitzero"`
	Updated time.Time `json:"updated,omitzero"`
	// Flavor is the name that its flavor had when it got it.
	Flavor string `json:"flavor,omitempty"`
	// Locked is set if somebody locked it.
	Locked bool `json:"locked,omitempty"`
	// Console is the end of its console log, if it was read.
	Console string `json:"console,omitempty"`
}

// Balancer is a load balancer of Octavia.
type Balancer struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Provisioning and Operating are Octavia's statuses, such as ACTIVE and ONLINE.
	Provisioning string `json:"provisioning"`
	Operating    string `json:"operating"`
	// Disabled is set if its administrative state is down.
	Disabled bool      `json:"disabled,omitempty"`
	Created  time.Time `json:"created,omitzero"`
	Updated  time.Time `json:"updated,omitzero"`
	// Members are those of its pools, if its status tree was read.
	Members []Member `json:"members,omitempty"`
	// Port is the id of the port that has its address.
	Port string `json:"port,omitempty"`
	// Provider is Octavia's name of what balances, such as amphora.
	Provider string `json:"provider,omitempty"`
	// Parts are its listeners and pools; nil if they were not read.
	Parts *Parts `json:"parts,omitempty"`
}

// Parts are what a load balancer is made of.
type Parts struct {
	Listeners []Listener `json:"listeners"`
	Pools     []Pool     `json:"pools"`
}

// Listener is a listener of a load balancer, with the id of its pool.
type Listener struct {
	Name         string `json:"name"`
	Port         int    `json:"port"`
	Pool         string `json:"pool,omitempty"`
	Provisioning string `json:"provisioning"`
	Disabled     bool   `json:"disabled,omitempty"`
	// AllowedCIDRs are who may connect; none is anybody.
	AllowedCIDRs []string `json:"allowedCIDRs,omitempty"`
}

// Pool is a pool of a load balancer, with the number of its members.
type Pool struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Members      int    `json:"members"`
	Provisioning string `json:"provisioning"`
	Disabled     bool   `json:"disabled,omitempty"`
}

// Member is a member of a load balancer's pool.
type Member struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	// Operating is Octavia's operating status, such as ONLINE or ERROR.
	Operating string `json:"operating"`
}

// Port is a port of Neutron.
type Port struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
	// Device is the id of its server.
	Device string `json:"device,omitempty"`
	// Up is the administrative state.
	Up bool `json:"up"`
	// Groups are the ids of its security groups, nil if they were not read; Pairs the
	// addresses besides its own that it may send from.
	Groups []string `json:"groups"`
	Pairs  []string `json:"pairs,omitempty"`
}

// Volume is a volume of Cinder.
type Volume struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Status is Cinder's, such as in-use or error.
	Status string `json:"status"`
	// Server is the id of the server that it is attached to.
	Server  string    `json:"server,omitempty"`
	Updated time.Time `json:"updated,omitzero"`
}

// Image is an image of Glance.
type Image struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Status is Glance's, such as active or deactivated.
	Status string `json:"status"`
	// Unlisted says that only its ID finds it, as of an image that is hidden.
	Unlisted bool `json:"unlisted,omitempty"`
}

// Network is a network of Neutron.
type Network struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// MTU is in bytes; 0 if the cloud does not say.
	MTU int `json:"mtu,omitempty"`
	// Disabled is set if its administrative state is down.
	Disabled bool `json:"disabled,omitempty"`
}

// Subnet is a subnet of Neutron.
type Subnet struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Network string `json:"network"`
	CIDR    string `json:"cidr"`
	// Gateway is empty if it has none.
	Gateway string `json:"gateway,omitempty"`
	DHCP    bool   `json:"dhcp"`
	// NameServers and Routes are what its machines are told; a route is "destination via hop".
	NameServers []string `json:"nameServers,omitempty"`
	Routes      []string `json:"routes,omitempty"`
}

// Router is a router of Neutron.
type Router struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Gateway is the id of its external network; empty if it has none.
	Gateway string `json:"gateway,omitempty"`
	// Disabled is set if its administrative state is down.
	Disabled bool `json:"disabled,omitempty"`
}

// SecurityGroup is a security group with the TCP ports that it lets in.
type SecurityGroup struct {
	ID      string      `json:"id"`
	Name    string      `json:"name"`
	Ingress []PortRange `json:"ingress,omitempty"`
	// Sealed is set if it has no rule for what goes out.
	Sealed bool `json:"sealed,omitempty"`
}

// PortRange is a range of TCP ports, both ends included. 0 to 65535 is any.
type PortRange struct {
	From int `json:"from"`
	To   int `json:"to"`
	// Source is who may connect: an address range or the id of a security group; empty is
	// anybody.
	Source string `json:"source,omitempty"`
}

// Quota is a limit of the project and what is used of it; a Limit of -1 is none.
type Quota struct {
	Resource string `json:"resource"`
	Limit    int    `json:"limit"`
	Used     int    `json:"used"`
}

// FloatingIP is a floating IP, with the id of the port that it is associated with.
type FloatingIP struct {
	ID      string `json:"id"`
	Address string `json:"address"`
	Port    string `json:"port,omitempty"`
	// Status is Neutron's, such as ACTIVE.
	Status string `json:"status,omitempty"`
}
