package loadbalancer_test

import (
	"context"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// must ends the test on an error.
func must[T any](t *testing.T) func(value T, err error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func wantStatus(t *testing.T, err error, status int) {
	t.Helper()
	if !gophercloud.ResponseCodeIs(err, status) {
		t.Errorf("got %v, want status %d", err, status)
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("timed out waiting: %s", what)
}

// newSubnet makes a network with a subnet.
func newSubnet(t *testing.T, c *sandboxtest.Cloud, cidr string) *subnets.Subnet {
	t.Helper()
	client := c.Member.Network(t)
	network := must[*networks.Network](t)(networks.Create(t.Context(), client, networks.CreateOpts{Name: "lb"}).Extract())
	return must[*subnets.Subnet](t)(subnets.Create(t.Context(), client,
		subnets.CreateOpts{NetworkID: network.ID, CIDR: cidr, IPVersion: gophercloud.IPv4}).Extract())
}

func get(t *testing.T, client *gophercloud.ServiceClient, id string) *loadbalancers.LoadBalancer {
	t.Helper()
	return must[*loadbalancers.LoadBalancer](t)(loadbalancers.Get(context.WithoutCancel(t.Context()), client, id).Extract())
}

func waitFor(t *testing.T, client *gophercloud.ServiceClient, id, status string) *loadbalancers.LoadBalancer {
	t.Helper()
	eventually(t, "load balancer "+status, func() bool { return get(t, client, id).ProvisioningStatus == status })
	return get(t, client, id)
}

// whole makes a load balancer with a listener, a pool, two members and a
// monitor at once.
func whole(t *testing.T, client *gophercloud.ServiceClient, name, subnetID string) *loadbalancers.LoadBalancer {
	t.Helper()
	return must[*loadbalancers.LoadBalancer](t)(loadbalancers.Create(t.Context(), client, loadbalancers.CreateOpts{
		Name: name, VipSubnetID: subnetID,
		Listeners: []listeners.CreateOpts{{Name: "web", Protocol: listeners.ProtocolHTTP, ProtocolPort: 80, AllowedCIDRs: []string{"10.0.0.0/8"},
			DefaultPool: &pools.CreateOpts{Name: "web", Protocol: pools.ProtocolHTTP, LBMethod: pools.LBMethodRoundRobin,
				Members: []pools.CreateMemberOpts{{Address: "10.7.0.11", ProtocolPort: 8080}, {Address: "10.7.0.12", ProtocolPort: 8080}},
				Monitor: monitors.CreateOpts{Type: monitors.TypeHTTP, Delay: 5, Timeout: 3, MaxRetries: 2}}}},
	}).Extract())
}
