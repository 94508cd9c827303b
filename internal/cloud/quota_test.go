package cloud

import (
	"slices"
	"testing"

	volumequotas "github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	balancerquotas "github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// fill makes a volume, and a load balancer with a listener, a pool, two members and a health monitor.
func fill(t *testing.T, sandbox *sandboxtest.Cloud) {
	t.Helper()
	_, err := volumes.Create(t.Context(), sandbox.Member.BlockStorage(t), volumes.CreateOpts{Name: "v", Size: 3}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	client := sandbox.Member.Network(t)
	network, err := networks.Create(t.Context(), client, networks.CreateOpts{Name: "n"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	subnet, err := subnets.Create(t.Context(), client, subnets.CreateOpts{NetworkID: network.ID, CIDR: "10.7.0.0/24", IPVersion: 4}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	pool := &pools.CreateOpts{Name: "api", Protocol: pools.ProtocolTCP, LBMethod: pools.LBMethodRoundRobin,
		Members: []pools.CreateMemberOpts{{Address: "10.7.0.11", ProtocolPort: 6443}, {Address: "10.7.0.12", ProtocolPort: 6443}},
		Monitor: monitors.CreateOpts{Type: monitors.TypeTCP, Delay: 5, Timeout: 3, MaxRetries: 2}}
	if _, err := loadbalancers.Create(t.Context(), sandbox.Member.LoadBalancer(t), loadbalancers.CreateOpts{Name: "lb", VipSubnetID: subnet.ID,
		Listeners: []listeners.CreateOpts{{Name: "api", Protocol: listeners.ProtocolTCP, ProtocolPort: 6443, DefaultPool: pool}}}).Extract(); err != nil {
		t.Fatal(err)
	}
}

// TestQuotasOfTypesAndOfPartsOfLoadBalancers are in a snapshot where they have a limit, with what is
// used of them.
func TestQuotasOfTypesAndOfPartsOfLoadBalancers(t *testing.T) {
	t.Parallel()
	sandbox := sandboxtest.Start(t)
	c, _ := open(t, sandbox)
	fill(t, sandbox)
	before, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(before.Quotas, func(q Quota) bool { return q.Resource == "pools" || q.Resource == "volumes___DEFAULT__" }) || before.DefaultVolumeType != "" {
		t.Errorf("quotas without a limit: %v, default type %q", before.Quotas, before.DefaultVolumeType)
	}
	four := 4
	if _, err := balancerquotas.Update(t.Context(), sandbox.Admin.LoadBalancer(t), before.Token.ProjectID,
		balancerquotas.UpdateOpts{Listener: &four, Pool: &four, Member: &four, Healthmonitor: &four}).Extract(); err != nil {
		t.Fatal(err)
	}
	if _, err := volumequotas.Update(t.Context(), sandbox.Admin.BlockStorage(t), before.Token.ProjectID,
		volumequotas.UpdateOpts{Extra: map[string]any{"volumes___DEFAULT__": 4, "gigabytes___DEFAULT__": 40}}).Extract(); err != nil {
		t.Fatal(err)
	}
	s, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Quota{{LoadBalancer, "load_balancers", -1, 1}, {LoadBalancer, "listeners", 4, 1}, {LoadBalancer, "pools", 4, 1}, {LoadBalancer, "members", 4, 2},
		{LoadBalancer, "health_monitors", 4, 1}, {Volume, "volumes", 10, 1}, {Volume, "gigabytes", 1000, 3}, {Volume, "volumes___DEFAULT__", 4, 1}, {Volume, "gigabytes___DEFAULT__", 40, 3}} {
		if !slices.Contains(s.Quotas, want) {
			t.Errorf("no %v in %v", want, s.Quotas)
		}
	}
	if s.DefaultVolumeType != "__DEFAULT__" || len(s.Missing) > 0 {
		t.Errorf("default type %q, missing %+v", s.DefaultVolumeType, s.Missing)
	}
}

// TestAQuotaThatIsNotNamedHasNoLimit: gophercloud reads what an answer leaves out as 0.
func TestAQuotaThatIsNotNamedHasNoLimit(t *testing.T) {
	t.Parallel()
	var answer balancerquotas.GetResult
	answer.Body = map[string]any{"quota": map[string]any{"load_balancer": 10, "listener": nil, "member": 0}}
	limit, err := balancerLimits(answer)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"load_balancer": 10, "listener": -1, "pool": -1, "member": 0} {
		if got := limit("other", name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
