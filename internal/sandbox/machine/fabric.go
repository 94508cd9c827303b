package machine

import (
	"context"
	"net/netip"
	"time"
)

// Fabric carries networks.
type Fabric interface {
	ApplyNetwork(ctx context.Context, n Network) error
	DeleteNetwork(ctx context.Context, id string) error
	ApplyRouter(ctx context.Context, r Router) error
	DeleteRouter(ctx context.Context, id string) error
	// ApplyFilter sets which traffic a port lets through.
	ApplyFilter(ctx context.Context, f Filter) error
	DeleteFilter(ctx context.Context, portID string) error
}

// Network is a layer 2 network. An external one is connected to the host.
type Network struct {
	ID       string
	MTU      int
	External bool
	Subnets  []Subnet
}

// Subnet is a range of addresses of a network.
type Subnet struct {
	ID          string
	Prefix      netip.Prefix
	Gateway     netip.Addr
	DHCP        bool
	Nameservers []netip.Addr
	Routes      []Route
}

// Router connects networks.
type Router struct {
	ID         string
	Interfaces []Port
	// Gateway is the port on the external network; its addresses' Gateway is
	// the default route. Nil without one.
	Gateway      *Port
	SNAT         bool
	Routes       []Route
	Translations []Translation
}

// Translation is a floating IP: both ways, one address for the other.
type Translation struct{ Floating, Fixed netip.Addr }

// Filter is the security of a port. Disabled lets everything through.
type Filter struct {
	Port         Port
	Disabled     bool
	AllowedPairs []Pair
	Rules        []Rule
}

// Pair is one more address that a port may send from; without a MAC it is the
// port's.
type Pair struct {
	Prefix netip.Prefix
	MAC    string
}

// Rule lets traffic through. A zero field matches everything.
type Rule struct {
	Ingress  bool
	IPv6     bool
	Protocol string
	// PortMin and PortMax are ICMP type and code for ICMP; -1 is any.
	PortMin, PortMax int
	// Remotes are the other side; nil is any, and empty, as of a group without
	// members, is none.
	Remotes []netip.Prefix
}

// Volumes keeps block devices. An id is the volume's.
type Volumes interface {
	// CreateVolume makes a volume, empty or with the bytes of a source: the
	// path of an image file, or the id of a volume or snapshot.
	CreateVolume(ctx context.Context, v Volume) error
	// ExtendVolume grows a volume, also while it is attached.
	ExtendVolume(ctx context.Context, id string, gib int) error
	DeleteVolume(ctx context.Context, id string) error
	CreateSnapshot(ctx context.Context, id, volumeID string) error
	DeleteSnapshot(ctx context.Context, id string) error
}

// Volume is a block device to be; at most one source is set.
type Volume struct {
	ID             string
	GiB            int
	Image          string
	SourceVolume   string
	SourceSnapshot string
}

// Balancers runs load balancers.
type Balancers interface {
	ApplyBalancer(ctx context.Context, b Balancer) error
	DeleteBalancer(ctx context.Context, id string) error
	// MemberHealth returns, by member id, whether the health check passes;
	// members not checked yet are not in it.
	MemberHealth(ctx context.Context, id string) (map[string]bool, error)
}

// Balancer is a load balancer to be.
type Balancer struct {
	ID        string
	VIP       Port
	Listeners []Listener
	// KeepsClients has members see the addresses of clients that come by a floating IP.
	KeepsClients bool
}

// Listener takes connections on a port of the VIP.
type Listener struct {
	ID           string
	Protocol     string
	Port         int
	AllowedCIDRs []netip.Prefix
	// Algorithm is Octavia's name of one.
	Algorithm string
	// MemberProtocol is the pool's; PROXY and PROXYV2 tell members who asks.
	MemberProtocol string
	// ConnectionLimit of 0 or less is none.
	ConnectionLimit int
	// Idle ends a connection without data for so long; 0 ends none.
	Idle    time.Duration
	Members []Member
	Check   *Check
}

// Member is one backend.
type Member struct {
	ID      string
	Address netip.AddrPort
	// Weight of 0 takes no new connections.
	Weight int
	// Backup is used when no other member is healthy.
	Backup bool
	// Monitor is checked instead of Address; its zero parts are Address's.
	Monitor struct {
		Addr netip.Addr
		Port int
	}
}

// Check is a health monitor; times are in seconds.
type Check struct {
	Type, Method, Path     string
	Codes                  string
	Delay, Timeout         int
	MaxRetries, MaxRetryDn int
}
