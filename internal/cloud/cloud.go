// Package cloud is the connection to OpenStack: clients from clouds.yaml with
// retries, faults that contain the cloud's message, and a snapshot of a project.
package cloud

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
)

// Cloud is one cloud that is logged in to. Its clients are created at first use and
// shared; it is safe for concurrent use.
type Cloud struct {
	// Name is the entry of clouds.yaml.
	Name string
	// Insecure reports whether certificates are not verified.
	Insecure bool
	// Provider is shared by the clients: token, retries, transport.
	Provider *gophercloud.ProviderClient
	// Endpoint is the region and interface of the endpoints.
	Endpoint gophercloud.EndpointOpts

	clock   *clock
	work    *retrier
	secrets []string

	login     *Login
	userAgent string

	mu      sync.Mutex
	clients map[Service]*client
}

// client is the client of one service. It is made once: a service that does not answer
// when its versions are asked for holds up nobody who wants another.
type client struct {
	mu   sync.Mutex
	made *gophercloud.ServiceClient
	// failed is why it could not be made at a time.
	failed error
	at     time.Time
}

// again is how long a diagnosis remembers that a service did not tell its versions: its lists
// would ask one after the other.
const again = 5 * time.Second

// Open finds the cloud and logs in.
func Open(ctx context.Context, o Options) (*Cloud, error) {
	login, err := Find(o)
	if err != nil {
		return nil, err
	}
	login.wrap = o.Wrap
	return login.Open(ctx, o.UserAgent)
}

// Open logs in.
func (l *Login) Open(ctx context.Context, userAgent string) (*Cloud, error) {
	provider, err := openstack.NewClient(l.auth.IdentityEndpoint)
	if err != nil {
		return nil, fmt.Errorf("client of cloud %s: %w", l.Name, err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = l.tls
	transport.ResponseHeaderTimeout = time.Minute // a call that hangs is an error that is retried
	transport.MaxIdleConnsPerHost = parallelCalls
	c := &Cloud{Name: l.Name, Insecure: l.Insecure, Provider: provider, Endpoint: l.endpoint, clock: &clock{below: transport, now: time.Now},
		secrets: []string{l.auth.Password, l.auth.ApplicationCredentialSecret, l.auth.TokenID}, login: l, userAgent: userAgent, clients: map[Service]*client{}}
	provider.HTTPClient = http.Client{Transport: c.clock}
	if l.wrap != nil {
		provider.HTTPClient.Transport = l.wrap(c.clock)
	}
	if userAgent != "" {
		provider.UserAgent.Prepend(userAgent)
	}
	login, work := &retrier{most: loginRetries, wait: wait}, &retrier{most: maxRetries, wait: wait}
	provider.RetryFunc, provider.RetryBackoffFunc, provider.MaxBackoffRetries = login.call, login.limited, maxRetries
	if err := openstack.Authenticate(ctx, provider, l.auth); err != nil {
		return nil, c.loginFault(err)
	}
	provider.RetryFunc, provider.RetryBackoffFunc, c.work = work.call, work.limited, work
	return c, nil
}

// Close closes connections that are not in use. The token stays valid until it
// expires.
func (c *Cloud) Close() { c.Provider.HTTPClient.CloseIdleConnections() }

// Service is a service of OpenStack, by its type in the catalog.
type Service string

// The services that Slipway uses.
const (
	Identity     Service = "identity"
	Compute      Service = "compute"
	Network      Service = "network"
	Image        Service = "image"
	Volume       Service = "block-storage"
	LoadBalancer Service = "load-balancer"
	KeyManager   Service = "key-manager"
	ObjectStore  Service = "object-store"
	// ContainerInfra is Magnum, or Slipway's own endpoint.
	ContainerInfra Service = "container-infra"
)

// computeVersion is the microversion of Nova: 2.52 allows tags when a server is
// created (Pike, 2017). Slipway needs no later one.
const computeVersion = "2.52"

// Client returns the client of a service. It is created once. If the service is not
// in the catalog, the error says so.
func (c *Cloud) Client(s Service) (*gophercloud.ServiceClient, error) {
	c.mu.Lock()
	one := c.clients[s]
	if one == nil {
		one = &client{}
		c.clients[s] = one
	}
	c.mu.Unlock()
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.made != nil {
		return one.made, nil
	}
	if one.failed != nil && time.Since(one.at) < again && c.work != nil && c.work.hurried.Load() {
		return nil, one.failed
	}
	made, err := constructors()[s](c.Provider, c.Endpoint)
	if err != nil {
		one.failed, one.at = c.missing(s, err), time.Now()
		return nil, one.failed
	}
	if s == Compute {
		made.Microversion = computeVersion
	}
	one.made = made
	return made, nil
}

type constructor func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)

func constructors() map[Service]constructor {
	return map[Service]constructor{
		Identity: openstack.NewIdentityV3, Compute: openstack.NewComputeV2, Network: openstack.NewNetworkV2, Image: openstack.NewImageV2,
		Volume: openstack.NewBlockStorageV3, LoadBalancer: openstack.NewLoadBalancerV2, KeyManager: openstack.NewKeyManagerV1, ObjectStore: openstack.NewObjectStorageV1,
		ContainerInfra: openstack.NewContainerInfraV1,
	}
}

// Compute is the client of Nova.
func (c *Cloud) Compute() (*gophercloud.ServiceClient, error) { return c.Client(Compute) }

// Network is the client of Neutron.
func (c *Cloud) Network() (*gophercloud.ServiceClient, error) { return c.Client(Network) }

// Image is the client of Glance.
func (c *Cloud) Image() (*gophercloud.ServiceClient, error) { return c.Client(Image) }

// Volume is the client of Cinder.
func (c *Cloud) Volume() (*gophercloud.ServiceClient, error) { return c.Client(Volume) }

// LoadBalancer is the client of Octavia.
func (c *Cloud) LoadBalancer() (*gophercloud.ServiceClient, error) { return c.Client(LoadBalancer) }

// ContainerInfra is the client of Magnum.
func (c *Cloud) ContainerInfra() (*gophercloud.ServiceClient, error) { return c.Client(ContainerInfra) }

// Identity is the client of Keystone.
func (c *Cloud) Identity() (*gophercloud.ServiceClient, error) { return c.Client(Identity) }

// KeyManager is the client of Barbican.
func (c *Cloud) KeyManager() (*gophercloud.ServiceClient, error) { return c.Client(KeyManager) }

// ObjectStore is the client of Swift.
func (c *Cloud) ObjectStore() (*gophercloud.ServiceClient, error) { return c.Client(ObjectStore) }
