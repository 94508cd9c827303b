package compute_test

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/aggregates"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servergroups"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/services"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"

	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// boots creates a server in a group and returns it as the administrator sees
// it, in the status.
func boots(t *testing.T, client, admin *gophercloud.ServiceClient, image, group, status string) *servers.Server {
	t.Helper()
	s, err := servers.Create(t.Context(), client, servers.CreateOpts{Name: "a", FlavorRef: "1", ImageRef: image, Networks: "none"},
		servers.SchedulerHintOpts{Group: group}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return await(t, admin, s.ID, status)
}

func TestServerGroupPolicies(t *testing.T) {
	t.Parallel()
	cloud := start(t, nil)
	client, admin := compute(t, cloud.Member), compute(t, cloud.Admin)
	unlimited(t, cloud)
	image := makeImage(t, cloud)
	for policy, want := range map[string]struct {
		hosts int
		last  string
	}{
		"affinity": {1, "ACTIVE"}, "soft-affinity": {1, "ACTIVE"}, "anti-affinity": {2, "ERROR"}, "soft-anti-affinity": {2, "ACTIVE"},
	} {
		t.Run(policy, func(t *testing.T) {
			enable(t, admin, 2)
			g, err := servergroups.Create(t.Context(), client, servergroups.CreateOpts{Name: policy, Policy: policy}).Extract()
			if err != nil {
				t.Fatal(err)
			}
			hosts := map[string]bool{}
			hosts[boots(t, client, admin, image, g.ID, "ACTIVE").Host] = true
			hosts[boots(t, client, admin, image, g.ID, "ACTIVE").Host] = true
			boots(t, client, admin, image, g.ID, want.last)
			if len(hosts) != want.hosts {
				t.Errorf("on %d hosts, want %d", len(hosts), want.hosts)
			}
		})
	}
}

// unlimited lets the member's project have as many servers as it likes.
func unlimited(t *testing.T, cloud *sandboxtest.Cloud) {
	t.Helper()
	err := cloud.Env.Store.Update(func(tx *store.Tx) error {
		project, _ := cloud.Env.Model.Identity.ProjectsByName.First(tx, "demo")
		cloud.Env.Model.Quotas.Set.Put(tx, model.Quota{Service: "compute", ProjectID: project.ID,
			Limits: map[string]int{"instances": -1, "cores": -1, "ram": -1}})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// enable lets so many hosts take servers.
func enable(t *testing.T, admin *gophercloud.ServiceClient, count int) {
	t.Helper()
	pages, err := services.List(admin, services.ListOpts{Binary: "nova-compute"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := services.ExtractServices(pages)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range list {
		status := services.ServiceEnabled
		if i >= count {
			status = services.ServiceDisabled
		}
		if _, err := services.Update(t.Context(), admin, s.ID, services.UpdateOpts{Status: status}).Extract(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestZoneOfAnAggregate(t *testing.T) {
	t.Parallel()
	cloud := start(t, nil)
	client, admin := compute(t, cloud.Member), compute(t, cloud.Admin)
	a, err := aggregates.Create(t.Context(), admin, aggregates.CreateOpts{Name: "second", AvailabilityZone: "zone-2"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := aggregates.AddHost(t.Context(), admin, a.ID, aggregates.AddHostOpts{Host: "compute-4"}).Extract(); err != nil {
		t.Fatal(err)
	}
	s, err := servers.Create(t.Context(), client, servers.CreateOpts{Name: "a", FlavorRef: "1", ImageRef: makeImage(t, cloud),
		Networks: "none", AvailabilityZone: "zone-2"}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if s := await(t, admin, s.ID, "ACTIVE"); s.Host != "compute-4" || s.AvailabilityZone != "zone-2" {
		t.Errorf("on %s in %s", s.Host, s.AvailabilityZone)
	}
	_, err = aggregates.Update(t.Context(), admin, a.ID, aggregates.UpdateOpts{AvailabilityZone: "zone-3"}).Extract()
	if !gophercloud.ResponseCodeIs(err, 409) {
		t.Errorf("renaming a zone with servers: %v", err)
	}
	if err := aggregates.Delete(t.Context(), admin, a.ID).ExtractErr(); !gophercloud.ResponseCodeIs(err, 400) {
		t.Errorf("deleting an aggregate with hosts: %v", err)
	}
}

// Placement tells what Nova's hosts have and what their servers use.
func TestPlacementFollowsServers(t *testing.T) {
	t.Parallel()
	cloud := start(t, nil)
	client := cloud.Admin.Placement(t)
	client.Microversion = "1.20"
	s := await(t, compute(t, cloud.Admin), boot(t, compute(t, cloud.Member), "a", makeImage(t, cloud)).ID, "ACTIVE")
	pages, err := resourceproviders.List(client, resourceproviders.ListOpts{Name: s.Host}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := resourceproviders.ExtractResourceProviders(pages)
	if err != nil || len(list) != 1 {
		t.Fatalf("providers %v, %v", list, err)
	}
	used, err := resourceproviders.GetUsages(t.Context(), client, list[0].UUID).Extract()
	if err != nil || used.Usages["VCPU"] != 1 || used.Usages["MEMORY_MB"] != 512 || used.Usages["DISK_GB"] != 1 {
		t.Errorf("usages %+v, %v", used, err)
	}
	held, err := resourceproviders.GetAllocations(t.Context(), client, list[0].UUID).Extract()
	if err != nil || held.Allocations[s.ID].Resources["VCPU"] != 1 {
		t.Errorf("allocations %+v, %v", held, err)
	}
	if err := resourceproviders.Delete(t.Context(), client, list[0].UUID).ExtractErr(); !gophercloud.ResponseCodeIs(err, 409) {
		t.Errorf("deleting the provider of a host: %v", err)
	}
	member := cloud.Member.Placement(t)
	if _, err := resourceproviders.List(member, nil).AllPages(t.Context()); !gophercloud.ResponseCodeIs(err, 403) {
		t.Errorf("as a member: %v", err)
	}
}
