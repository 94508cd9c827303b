package loadbalancer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/slipway-sh/slipway/internal/sandbox"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// stopped lets operations take as long as in a cloud by a clock that stands
// still until the test moves it.
func stopped(clock *clocktesting.FakeClock) func(o *sandbox.Options) {
	return func(o *sandbox.Options) { o.Factor, o.Clock = 1, clock }
}

// pass moves the clock until a load balancer has the status.
func pass(t *testing.T, clock *clocktesting.FakeClock, client *gophercloud.ServiceClient, id, status string) {
	t.Helper()
	eventually(t, "load balancer "+status, func() bool {
		clock.Step(time.Second)
		return get(t, client, id).ProvisioningStatus == status
	})
}

func TestPendingIsImmutable(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	cloud := sandboxtest.Start(t, stopped(clock))
	client := cloud.Member.LoadBalancer(t)
	lb := whole(t, client, "busy", newSubnet(t, cloud, "10.7.0.0/24").ID)
	if lb.ProvisioningStatus != "PENDING_CREATE" || lb.OperatingStatus != "OFFLINE" || lb.Listeners[0].ProvisioningStatus != "PENDING_CREATE" {
		t.Errorf("new load balancer is %s, %s", lb.ProvisioningStatus, lb.OperatingStatus)
	}
	_, err := listeners.Create(t.Context(), client, listeners.CreateOpts{LoadbalancerID: lb.ID, Protocol: "TCP", ProtocolPort: 22}).Extract()
	wantStatus(t, err, 409)
	if want := "Load Balancer " + lb.ID + " is immutable and cannot be updated."; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	wantStatus(t, loadbalancers.Delete(t.Context(), client, lb.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr(), 409)
	wantStatus(t, loadbalancers.Failover(t.Context(), client, lb.ID).ExtractErr(), 409)

	pass(t, clock, client, lb.ID, "ACTIVE")
	weight := 5
	member := must[[]pools.Member](t)(members(t, client, lb.Pools[0].ID))[0]
	_, err = pools.UpdateMember(t.Context(), client, lb.Pools[0].ID, member.ID, pools.UpdateMemberOpts{Weight: &weight}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	pool := must[*pools.Pool](t)(pools.Get(t.Context(), client, lb.Pools[0].ID).Extract())
	listener := must[*listeners.Listener](t)(listeners.Get(t.Context(), client, lb.Listeners[0].ID).Extract())
	for what, status := range map[string]string{"load balancer": get(t, client, lb.ID).ProvisioningStatus,
		"pool": pool.ProvisioningStatus, "listener": listener.ProvisioningStatus} {
		if status != "PENDING_UPDATE" {
			t.Errorf("while a member changes the %s is %s", what, status)
		}
	}
}

func TestRestartEndsWhatWasUnderWay(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakeClock(time.Now())
	cloud := sandboxtest.Start(t, stopped(clock))
	lb := whole(t, cloud.Member.LoadBalancer(t), "kept", newSubnet(t, cloud, "10.7.0.0/24").ID)
	cloud.Restart(t)
	client := cloud.Member.LoadBalancer(t)
	if status := get(t, client, lb.ID).ProvisioningStatus; status != "PENDING_CREATE" {
		t.Errorf("after a restart it is %s", status)
	}
	pass(t, clock, client, lb.ID, "ACTIVE")
	if again := get(t, client, lb.ID); again.VipAddress != lb.VipAddress || again.VipPortID != lb.VipPortID {
		t.Errorf("VIP was %s at %s and is %s at %s", lb.VipAddress, lb.VipPortID, again.VipAddress, again.VipPortID)
	}
	if err := loadbalancers.Delete(t.Context(), client, lb.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	cloud.Restart(t)
	client = cloud.Member.LoadBalancer(t)
	eventually(t, "load balancer gone", func() bool {
		clock.Step(time.Second)
		_, err := loadbalancers.Get(t.Context(), client, lb.ID).Extract()
		return err != nil
	})
	_, err := ports.Get(t.Context(), cloud.Member.Network(t), lb.VipPortID).Extract()
	wantStatus(t, err, 404)
}

func TestFaultLeadsToError(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	client := cloud.Member.LoadBalancer(t)
	subnet := newSubnet(t, cloud, "10.7.0.0/24")
	must[faultinject.Rule](t)(cloud.Faults.Add(faultinject.Rule{Kind: faultinject.BalancerError, Resource: "doomed-*", Times: 1}))
	lb := whole(t, client, "doomed-1", subnet.ID)
	if broken := waitFor(t, client, lb.ID, "ERROR"); broken.OperatingStatus != "ERROR" {
		t.Errorf("operating status is %s", broken.OperatingStatus)
	}
	pool := must[*pools.Pool](t)(pools.Get(t.Context(), client, lb.Pools[0].ID).Extract())
	if pool.ProvisioningStatus != "ERROR" {
		t.Errorf("pool that was being made is %s", pool.ProvisioningStatus)
	}
	_, err := pools.CreateMember(t.Context(), client, pool.ID, pools.CreateMemberOpts{Address: "10.7.0.13", ProtocolPort: 80}).Extract()
	wantStatus(t, err, 409)
	if err := loadbalancers.Failover(t.Context(), client, lb.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if repaired := waitFor(t, client, lb.ID, "ACTIVE"); repaired.OperatingStatus != "ONLINE" {
		t.Errorf("after failover the operating status is %s", repaired.OperatingStatus)
	}
	other := whole(t, client, "fine", subnet.ID)
	waitFor(t, client, other.ID, "ACTIVE")
}

func TestErrorCanBeDeleted(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	client := cloud.Member.LoadBalancer(t)
	subnet := newSubnet(t, cloud, "10.7.0.0/24")
	must[faultinject.Rule](t)(cloud.Faults.Add(faultinject.Rule{Kind: faultinject.BalancerError}))
	lb := whole(t, client, "doomed", subnet.ID)
	waitFor(t, client, lb.ID, "ERROR")
	if err := loadbalancers.Delete(t.Context(), client, lb.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "network free of the VIP", func() bool {
		return networks.Delete(t.Context(), cloud.Member.Network(t), subnet.NetworkID).ExtractErr() == nil
	})
	for name, left := range map[string]int{"pools": cloud.Env.Model.LoadBalancing.Pools.Len(nil), "members": cloud.Env.Model.LoadBalancing.Members.Len(nil),
		"listeners": cloud.Env.Model.LoadBalancing.Listeners.Len(nil), "monitors": cloud.Env.Model.LoadBalancing.Monitors.Len(nil)} {
		if left > 0 {
			t.Errorf("%d %s are left", left, name)
		}
	}
}
