package sandboxtest

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
)

// Clients makes gophercloud clients for one login.
type Clients struct {
	Provider *gophercloud.ProviderClient
	endpoint gophercloud.EndpointOpts
}

// Login returns clients for a login at the cloud; it ends the test when the
// login is refused.
func (c *Cloud) Login(t testing.TB, o gophercloud.AuthOptions) Clients {
	t.Helper()
	o.IdentityEndpoint = c.URL() + "/identity"
	provider, err := openstack.AuthenticatedClient(t.Context(), o)
	if err != nil {
		t.Fatalf("logging in: %v", err)
	}
	return NewClients(provider, gophercloud.EndpointOpts{Region: c.Env.Region})
}

// NewClients makes clients of a login that was made elsewhere.
func NewClients(provider *gophercloud.ProviderClient, endpoint gophercloud.EndpointOpts) Clients {
	return Clients{provider, endpoint}
}

type constructor func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)

func (c Clients) client(t testing.TB, make constructor) *gophercloud.ServiceClient {
	t.Helper()
	client, err := make(c.Provider, c.endpoint)
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	return client
}

// Identity is a client of Keystone.
func (c Clients) Identity(t testing.TB) *gophercloud.ServiceClient {
	return c.client(t, openstack.NewIdentityV3)
}

// Compute is a client of Nova; set Microversion for a later version than 2.1.
func (c Clients) Compute(t testing.TB) *gophercloud.ServiceClient {
	return c.client(t, openstack.NewComputeV2)
}

// Network is a client of Neutron.
func (c Clients) Network(t testing.TB) *gophercloud.ServiceClient {
	return c.client(t, openstack.NewNetworkV2)
}

// Image is a client of Glance.
func (c Clients) Image(t testing.TB) *gophercloud.ServiceClient {
	return c.client(t, openstack.NewImageV2)
}

// BlockStorage is a client of Cinder.
func (c Clients) BlockStorage(t testing.TB) *gophercloud.ServiceClient {
	return c.client(t, openstack.NewBlockStorageV3)
}

// LoadBalancer is a client of Octavia.
func (c Clients) LoadBalancer(t testing.TB) *gophercloud.ServiceClient {
	return c.client(t, openstack.NewLoadBalancerV2)
}

// KeyManager is a client of Barbican.
func (c Clients) KeyManager(t testing.TB) *gophercloud.ServiceClient {
	return c.client(t, openstack.NewKeyManagerV1)
}

// ObjectStorage is a client of Swift.
func (c Clients) ObjectStorage(t testing.TB) *gophercloud.ServiceClient {
	return c.client(t, openstack.NewObjectStorageV1)
}

// Placement is a client of Placement.
func (c Clients) Placement(t testing.TB) *gophercloud.ServiceClient {
	return c.client(t, openstack.NewPlacementV1)
}
