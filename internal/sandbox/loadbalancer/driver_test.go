package loadbalancer_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/slipway-sh/slipway/internal/sandbox"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// driver is a driver whose load balancers only tell what they were asked.
type driver struct {
	*machine.None
	mu      sync.Mutex
	refuse  bool
	begun   chan struct{} // closed by the first that is applied, which does not end by itself
	applied map[string]machine.Balancer
	deleted []string
	health  map[string]bool
}

func (d *driver) Balancers() machine.Balancers { return d }

func (d *driver) ApplyBalancer(ctx context.Context, b machine.Balancer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.begun != nil {
		close(d.begun)
		d.begun = nil
		d.mu.Unlock()
		<-ctx.Done()
		d.mu.Lock()
		return context.Cause(ctx)
	}
	if d.refuse {
		return errors.New("no room for a load balancer")
	}
	d.applied[b.ID] = b
	return nil
}

func (d *driver) DeleteBalancer(_ context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deleted = append(d.deleted, id)
	return nil
}

func (d *driver) MemberHealth(context.Context, string) (map[string]bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	health := map[string]bool{}
	for id, healthy := range d.health {
		health[id] = healthy
	}
	return health, nil
}

func (d *driver) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func (d *driver) spec(id string) machine.Balancer {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.applied[id]
}

func withDriver(t *testing.T) (*driver, *sandboxtest.Cloud) {
	d := &driver{None: machine.NewNone(), applied: map[string]machine.Balancer{}}
	return d, sandboxtest.Start(t, func(o *sandbox.Options) { o.Host = d })
}

func members(t *testing.T, client *gophercloud.ServiceClient, poolID string) ([]pools.Member, error) {
	pages, err := pools.ListMembers(client, poolID, nil).AllPages(t.Context())
	if err != nil {
		return nil, err
	}
	return pools.ExtractMembers(pages)
}

func TestDriverIsGivenTheModel(t *testing.T) {
	t.Parallel()
	d, cloud := withDriver(t)
	client := cloud.Member.LoadBalancer(t)
	lb := whole(t, client, "real", newSubnet(t, cloud, "10.7.0.0/24").ID)
	waitFor(t, client, lb.ID, "ACTIVE")
	spec := d.spec(lb.ID)
	if len(spec.Listeners) != 1 || len(spec.VIP.Addresses) != 1 || spec.VIP.Addresses[0].Prefix.Addr().String() != lb.VipAddress {
		t.Fatalf("driver was given %+v for VIP %s", spec, lb.VipAddress)
	}
	l := spec.Listeners[0]
	if l.Port != 80 || l.Algorithm != "ROUND_ROBIN" || len(l.Members) != 2 || l.AllowedCIDRs[0].String() != "10.0.0.0/8" ||
		l.Members[0].Address.String() != "10.7.0.11:8080" || l.Check == nil || l.Check.Path != "/" || l.Check.Codes != "200" {
		t.Errorf("driver was given listener %+v, check %+v", l, l.Check)
	}
	if l.Idle != 50*time.Second {
		t.Errorf("a connection without data ends after %s, not Octavia's 50 s", l.Idle)
	}
	off := false
	must[*loadbalancers.LoadBalancer](t)(loadbalancers.Update(t.Context(), client, lb.ID, loadbalancers.UpdateOpts{AdminStateUp: &off}).Extract())
	if down := waitFor(t, client, lb.ID, "ACTIVE"); down.OperatingStatus != "OFFLINE" || len(d.spec(lb.ID).Listeners) != 0 {
		t.Errorf("switched off it is %s with %d listeners", down.OperatingStatus, len(d.spec(lb.ID).Listeners))
	}
	if err := loadbalancers.Delete(t.Context(), client, lb.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "driver told of the deletion", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return slices.Contains(d.deleted, lb.ID)
	})
}

func TestMemberHealth(t *testing.T) {
	t.Parallel()
	d, cloud := withDriver(t)
	client := cloud.Member.LoadBalancer(t)
	lb := whole(t, client, "checked", newSubnet(t, cloud, "10.7.0.0/24").ID)
	waitFor(t, client, lb.ID, "ACTIVE")
	both := must[[]pools.Member](t)(members(t, client, lb.Pools[0].ID))
	for _, test := range []struct {
		first, second          bool
		member, pool, balancer string
	}{
		{true, true, "ONLINE", "ONLINE", "ONLINE"},
		{true, false, "ERROR", "DEGRADED", "DEGRADED"},
		{false, false, "ERROR", "ERROR", "ERROR"},
		{true, true, "ONLINE", "ONLINE", "ONLINE"},
	} {
		d.set(func() { d.health = map[string]bool{both[0].ID: test.first, both[1].ID: test.second} })
		eventually(t, "balancer "+test.balancer+", pool "+test.pool+", member "+test.member, func() bool {
			member := must[*pools.Member](t)(pools.GetMember(t.Context(), client, lb.Pools[0].ID, both[1].ID).Extract())
			pool := must[*pools.Pool](t)(pools.Get(t.Context(), client, lb.Pools[0].ID).Extract())
			return member.OperatingStatus == test.member && pool.OperatingStatus == test.pool &&
				get(t, client, lb.ID).OperatingStatus == test.balancer
		})
	}
}

func TestDriverRefuses(t *testing.T) {
	t.Parallel()
	d, cloud := withDriver(t)
	client := cloud.Member.LoadBalancer(t)
	d.set(func() { d.refuse = true })
	lb := whole(t, client, "refused", newSubnet(t, cloud, "10.7.0.0/24").ID)
	waitFor(t, client, lb.ID, "ERROR")
	said := false
	for _, e := range cloud.Events.Events() {
		said = said || e.Error == "no room for a load balancer"
	}
	if !said {
		t.Error("the driver's error was told nobody")
	}
}

func TestRestartAppliesAgain(t *testing.T) {
	t.Parallel()
	d, cloud := withDriver(t)
	lb := whole(t, cloud.Member.LoadBalancer(t), "again", newSubnet(t, cloud, "10.7.0.0/24").ID)
	waitFor(t, cloud.Member.LoadBalancer(t), lb.ID, "ACTIVE")
	d.set(func() { delete(d.applied, lb.ID) })
	cloud.Restart(t)
	eventually(t, "driver given the balancer anew", func() bool { return len(d.spec(lb.ID).Listeners) == 1 })
}

// A load balancer that is being made when the sandbox ends is made by the next process.
func TestTheEndOfTheSandboxIsNoError(t *testing.T) {
	t.Parallel()
	d, cloud := withDriver(t)
	begun := make(chan struct{})
	d.set(func() { d.begun = begun })
	lb := whole(t, cloud.Member.LoadBalancer(t), "interrupted", newSubnet(t, cloud, "10.7.0.0/24").ID)
	<-begun
	cloud.Restart(t)
	waitFor(t, cloud.Member.LoadBalancer(t), lb.ID, "ACTIVE")
}
