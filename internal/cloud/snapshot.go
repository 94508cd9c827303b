package cloud

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/ownership"
)

// parallelCalls is how many calls run at once.
const parallelCalls = 12

// Snapshot is the state of a project at one time: everything that checks and choices
// need, from one list call per kind.
type Snapshot struct {
	Cloud  string `json:"cloud"`
	Region string `json:"region,omitempty"`
	// Insecure reports whether certificates are not verified.
	Insecure bool  `json:"insecure,omitempty"`
	Token    Token `json:"token"`
	// ClockOffset is how much the cloud's clock is ahead of ours.
	ClockOffset time.Duration `json:"clockOffset"`
	// Missing are the calls that failed; their lists are empty.
	Missing []Missing `json:"missing,omitempty"`

	Networks       []NetworkInfo       `json:"networks"`
	Subnets        []SubnetInfo        `json:"subnets"`
	Routers        []RouterInfo        `json:"routers"`
	SecurityGroups []Resource          `json:"securityGroups"`
	FloatingIPs    []FloatingIPInfo    `json:"floatingIPs"`
	Extensions     []string            `json:"extensions"`
	Flavors        []FlavorInfo        `json:"flavors"`
	Images         []ImageInfo         `json:"images"`
	VolumeTypes    []string            `json:"volumeTypes"`
	Servers        []ServerInfo        `json:"servers"`
	Volumes        []Resource          `json:"volumes"`
	KeyPairs       []Resource          `json:"keyPairs"`
	Credentials    []CredentialInfo    `json:"applicationCredentials"`
	Balancers      []Resource          `json:"loadBalancers"`
	Providers      []string            `json:"loadBalancerProviders"`
	Zones          map[string][]string `json:"availabilityZones"`
	Quotas         []Quota             `json:"quotas"`
	// Hosts is how many hosts accept servers; 0 if the cloud does not show them,
	// which most clouds do not.
	Hosts int `json:"hosts,omitempty"`
}

// The kinds of availability zones in Snapshot.Zones.
const (
	ComputeZones = "compute"
	VolumeZones  = "volume"
	NetworkZones = "network"
	RouterZones  = "router"
)

// Missing is a call that failed, so a part of the snapshot is empty.
type Missing struct {
	Service Service `json:"service"`
	What    string  `json:"what"`
	// Absent reports whether the service is missing from the catalog.
	Absent bool   `json:"absent,omitempty"`
	Cause  string `json:"cause"`
}

// Token describes the user who is logged in.
type Token struct {
	UserID      string    `json:"userID"`
	UserName    string    `json:"userName"`
	ProjectID   string    `json:"projectID"`
	ProjectName string    `json:"projectName"`
	Roles       []string  `json:"roles"`
	ExpiresAt   time.Time `json:"expiresAt"`
	// CredentialID is set if the login is by an application credential.
	CredentialID string `json:"applicationCredentialID,omitempty"`
	// Restricted reports whether the credential cannot create others. It is
	// known if the credential itself can be read.
	Restricted bool `json:"restricted,omitempty"`
}

// Resource is something of the project with a name.
type Resource struct {
	// Kind is a word for the type: "server".
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Name string `json:"name"`
	// Owner is the ownership tag, nil for foreign resources and for key pairs,
	// which cannot have one.
	Owner *ownership.Owner `json:"owner,omitempty"`
}

func resource(kind, id, name string, tags []string, metadata map[string]string, description string) Resource {
	t := Resource{Kind: kind, ID: id, Name: name}
	if mark, ok := ownership.Find(tags, metadata, description); ok {
		t.Owner = &mark
	}
	return t
}

// NetworkInfo is a network that the project sees.
type NetworkInfo struct {
	Resource
	ProjectID string `json:"projectID"`
	External  bool   `json:"external,omitempty"`
	Shared    bool   `json:"shared,omitempty"`
	MTU       int    `json:"mtu,omitempty"`
}

// SubnetInfo is a subnet that the project sees.
type SubnetInfo struct {
	Resource
	ProjectID string `json:"projectID"`
	NetworkID string `json:"networkID"`
	CIDR      string `json:"cidr"`
}

// RouterInfo is a router of the project.
type RouterInfo struct {
	Resource
	// ExternalNetworkID is the network of its gateway, if it has one.
	ExternalNetworkID string `json:"externalNetworkID,omitempty"`
	// Routes are the destinations of its static routes.
	Routes []string `json:"routes,omitempty"`
}

// FloatingIPInfo is a floating IP of the project.
type FloatingIPInfo struct {
	Resource
	Address   string `json:"address"`
	NetworkID string `json:"networkID"`
	PortID    string `json:"portID,omitempty"`
}

// ServerInfo is a server of the project.
type ServerInfo struct {
	Resource
	// Flavor is the name that its flavor had when the server got it.
	Flavor string `json:"flavor,omitempty"`
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
}

// CredentialInfo is an application credential of the user.
type CredentialInfo struct {
	Resource
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

// listing is one list call of a snapshot.
type listing struct {
	service Service
	what    string
	run     func(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) error
}

// Snapshot looks at the project once, all calls side by side. What cannot be
// listed is recorded as missing; only the end of ctx is an error.
func (c *Cloud) Snapshot(ctx context.Context) (*Snapshot, error) {
	s := &Snapshot{Cloud: c.Name, Region: c.Endpoint.Region, Insecure: c.Insecure, Zones: map[string][]string{}}
	var err error
	if s.Token, err = c.Token(); err != nil {
		return nil, fmt.Errorf("reading the token: %w", err)
	}
	var mu sync.Mutex // for what several calls write: Missing, Zones, Quotas
	parts := make([]Snapshot, len(listings()))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelCalls)
	for i, l := range listings() {
		group.Go(func() error {
			parts[i].Token, parts[i].Zones = s.Token, map[string][]string{}
			client, err := c.Client(l.service)
			if err == nil {
				err = l.run(ctx, client, &parts[i])
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				s.note(c.missed(l, err))
				return nil
			}
			s.add(&parts[i])
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	s.complete()
	s.ClockOffset = c.ClockOffset()
	return s, nil
}

func (c *Cloud) missed(l listing, err error) Missing {
	return Missing{Service: l.service, What: l.what, Absent: errors.Is(err, ErrNoService), Cause: c.Fault(l.what, err).Error()}
}

// note keeps one line for a service that does not exist at all.
func (s *Snapshot) note(m Missing) {
	if m.Absent && slices.ContainsFunc(s.Missing, func(o Missing) bool { return o.Absent && o.Service == m.Service }) {
		return
	}
	s.Missing = append(s.Missing, m)
}

// Lacks says that a service does not exist in this cloud.
func (s *Snapshot) Lacks(service Service) bool {
	return slices.ContainsFunc(s.Missing, func(m Missing) bool { return m.Absent && m.Service == service })
}

// Known says that a listing is there: neither its service nor its call was
// missing.
func (s *Snapshot) Known(service Service, what string) bool {
	return !slices.ContainsFunc(s.Missing, func(m Missing) bool { return m.Service == service && (m.Absent || m.What == what) })
}
