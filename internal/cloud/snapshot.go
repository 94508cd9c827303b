package cloud

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
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

	Networks       []NetworkInfo    `json:"networks"`
	Subnets        []SubnetInfo     `json:"subnets"`
	Routers        []RouterInfo     `json:"routers"`
	SecurityGroups []GroupInfo      `json:"securityGroups"`
	FloatingIPs    []FloatingIPInfo `json:"floatingIPs"`
	Extensions     []string         `json:"extensions"`
	Flavors        []FlavorInfo     `json:"flavors"`
	Images         []ImageInfo      `json:"images"`
	VolumeTypes    []string         `json:"volumeTypes"`
	// DefaultVolumeType is that of volumes that name none; it is asked for only if types have quotas.
	DefaultVolumeType string           `json:"defaultVolumeType,omitempty"`
	Servers           []ServerInfo     `json:"servers"`
	Volumes           []VolumeInfo     `json:"volumes"`
	KeyPairs          []Resource       `json:"keyPairs"`
	Credentials       []CredentialInfo `json:"applicationCredentials"`
	Balancers         []BalancerInfo   `json:"loadBalancers"`
	// Listeners and Pools are in a diagnosis only.
	Listeners []ListenerInfo `json:"listeners,omitempty"`
	Pools     []PoolInfo     `json:"pools,omitempty"`
	// Ports are in a diagnosis and in an inventory only.
	Ports     []PortInfo          `json:"ports,omitempty"`
	Providers []string            `json:"loadBalancerProviders"`
	Zones     map[string][]string `json:"availabilityZones"`
	Quotas    []Quota             `json:"quotas"`
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
	// Status is the HTTP status of the answer; 0 if there was none.
	Status int `json:"-"`
	// Slow reports whether the service answers, and only this list takes too long, as that of
	// a very large project.
	Slow bool `json:"-"`

	late bool
}

// Token describes the user who is logged in.
type Token struct {
	UserID      string    `json:"userID"`
	UserName    string    `json:"userName"`
	ProjectID   string    `json:"projectID"`
	ProjectName string    `json:"projectName"`
	Roles       []string  `json:"roles"`
	ExpiresAt   time.Time `json:"expiresAt"`
	// PasswordExpiresAt is zero if the password does not expire.
	PasswordExpiresAt time.Time `json:"passwordExpiresAt,omitzero"`
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

// listing is one list call of a snapshot.
type listing struct {
	service Service
	what    string
	run     func(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) error
}

// Snapshot looks at the project once, all calls side by side. What cannot be
// listed is recorded as missing; only the end of ctx is an error.
func (c *Cloud) Snapshot(ctx context.Context) (*Snapshot, error) { return c.take(ctx, listings(), 0) }

// Diagnosis is a snapshot of what can be at fault for a cluster that does not come up,
// without what only choices need.
// A service that does not answer for long costs the diagnosis its lists, and no others.
func (c *Cloud) Diagnosis(ctx context.Context) (*Snapshot, error) {
	return c.take(ctx, diagnosis(), diagnosisTime)
}

// diagnosisTime is how long one list of a diagnosis may take.
const diagnosisTime = 8 * time.Second

// Running is a snapshot of what costs and runs: servers and load balancers alone, for
// who watches them.
func (c *Cloud) Running(ctx context.Context) (*Snapshot, error) {
	return c.take(ctx, []listing{{Compute, ListServers, listServers}, {LoadBalancer, ListBalancers, listBalancers}}, 0)
}

// Inventory is a snapshot of what clusters are made of: servers, volumes, load
// balancers, floating IPs and ports.
func (c *Cloud) Inventory(ctx context.Context) (*Snapshot, error) { return c.take(ctx, inventory(), 0) }

// take makes the listings. One that takes longer than limit is missing; 0 is no limit.
func (c *Cloud) take(ctx context.Context, wanted []listing, limit time.Duration) (*Snapshot, error) {
	s := &Snapshot{Cloud: c.Name, Region: c.Endpoint.Region, Insecure: c.Insecure, Zones: map[string][]string{}}
	var err error
	if s.Token, err = c.Token(); err != nil {
		return nil, fmt.Errorf("reading the token: %w", err)
	}
	if limit > 0 && c.work != nil {
		c.work.hurried.Store(true)
	}
	heard := map[Service]*atomic.Bool{}
	for _, l := range wanted {
		heard[l.service] = &atomic.Bool{}
	}
	var mu sync.Mutex // for what several calls write: Missing, Zones, Quotas
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelCalls)
	for _, l := range wanted {
		group.Go(func() error {
			part, err := c.list(context.WithValue(ctx, answered{}, heard[l.service]), l, s.Token, limit)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				s.note(c.missed(l, err))
				return nil
			}
			s.add(part)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i := range s.Missing {
		if m := &s.Missing[i]; m.late && heard[m.Service].Load() {
			m.Slow, m.Cause = true, fmt.Sprintf("%s: the whole list takes longer than %s, although %s answers", m.What, limit, m.Service)
		}
	}
	s.complete()
	s.ClockOffset = c.ClockOffset()
	return s, nil
}

// lateError is that a list did not come in its time.
type lateError time.Duration

// Error says how long its time was.
func (e lateError) Error() string { return fmt.Sprintf("no answer within %s", time.Duration(e)) }

// list makes one listing, and does not wait for longer than limit.
func (c *Cloud) list(ctx context.Context, l listing, token Token, limit time.Duration) (*Snapshot, error) {
	if limit > 0 {
		within, cancel := context.WithTimeoutCause(ctx, limit, lateError(limit))
		defer cancel()
		ctx = context.WithValue(within, hasty{}, true)
	}
	type result struct {
		part *Snapshot
		err  error
	}
	done := make(chan result, 1)
	go func() {
		part := &Snapshot{Token: token, Zones: map[string][]string{}}
		client, err := c.Client(l.service) // asks for versions, whatever becomes of ctx
		if err == nil {
			err = l.run(ctx, client, part)
		}
		done <- result{part, err}
	}()
	select {
	case r := <-done:
		if r.err != nil && ctx.Err() != nil {
			r.err = fmt.Errorf("%w: %w", context.Cause(ctx), r.err)
		}
		return r.part, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *Cloud) missed(l listing, err error) Missing {
	m := Missing{Service: l.service, What: l.what, Absent: errors.Is(err, ErrNoService), Cause: c.Fault(l.what, err).Error(), late: errors.As(err, new(lateError))}
	if answer := c.answer(err); answer != nil {
		m.Status = answer.Status
	}
	return m
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
