package stacks_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
)

// byHand makes one thing of each kind that can be adopted, as an operator does
// who had them before, and returns their ids by step.
func byHand(t *testing.T, w *world) map[string]string {
	t.Helper()
	network, _ := w.clients.Network()
	volume, _ := w.clients.Volume()
	n := must[*networks.Network](t)(networks.Create(t.Context(), network, networks.CreateOpts{Name: "lab", Description: "since 2019"}).Extract())
	s := must[*subnets.Subnet](t)(subnets.Create(t.Context(), network, subnets.CreateOpts{Name: "lab", NetworkID: n.ID, IPVersion: 4,
		CIDR: w.env.Config.Spec.Seed.Network.CIDR.String()}).Extract())
	r := must[*routers.Router](t)(routers.Create(t.Context(), network, routers.CreateOpts{Name: "lab",
		GatewayInfo: &routers.GatewayInfo{NetworkID: w.env.Choices.ExternalNetworkID}}).Extract())
	g := must[*groups.SecGroup](t)(groups.Create(t.Context(), network, groups.CreateOpts{Name: "lab"}).Extract())
	p := must[*ports.Port](t)(ports.Create(t.Context(), network, ports.CreateOpts{Name: "lab", NetworkID: n.ID}).Extract())
	f := must[*floatingips.FloatingIP](t)(floatingips.Create(t.Context(), network, floatingips.CreateOpts{FloatingNetworkID: w.env.Choices.FloatingNetworkID}).Extract())
	v := must[*volumes.Volume](t)(volumes.Create(t.Context(), volume, volumes.CreateOpts{Name: "lab", Size: 10, Metadata: map[string]string{"owner": "lab"}}, nil).Extract())
	return map[string]string{stacks.StepNetwork: n.ID, stacks.StepSubnet: s.ID, stacks.StepRouter: r.ID, stacks.StepAccess: g.ID,
		stacks.StepPort: p.ID, stacks.StepAddress: f.ID, stacks.StepData: v.ID}
}

// TestResourcesMadeByHandAreAdopted lets an environment have what was there before:
// nothing is made twice, what differs follows the file, and a second up has
// nothing to do.
//
// proves: S-05
func TestResourcesMadeByHandAreAdopted(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	w := newWorld(t, cloud, plain)
	ids := byHand(t, w)
	if len(ids) != len(stacks.Adoptable()) {
		t.Fatalf("%d of %d steps", len(ids), len(stacks.Adoptable()))
	}
	for step, id := range ids {
		for range 2 { // the second time it is ours, and the same again
			if err := w.inventory.Adopt(t.Context(), stacks.Adoptable()[step], ownership.New("prod", step), id); err != nil {
				t.Fatalf("%s: %v", step, err)
			}
		}
	}
	w.up(t)
	for step, id := range ids {
		if got := w.only(t, step).ID; got != id {
			t.Errorf("%s is %s, not %s", step, got, id)
		}
	}
	volume, _ := w.clients.Volume()
	if v := must[*volumes.Volume](t)(volumes.Get(t.Context(), volume, ids[stacks.StepData]).Extract()); v.Size != w.env.Config.Spec.Seed.DataVolume.SizeGiB || v.Metadata["owner"] != "lab" {
		t.Errorf("the volume has %d GiB and %v", v.Size, v.Metadata)
	}
	network, _ := w.clients.Network()
	if n := must[*networks.Network](t)(networks.Get(t.Context(), network, ids[stacks.StepNetwork]).Extract()); n.Name != "prod-network" || !strings.Contains(n.Description, "since 2019") {
		t.Errorf("the network is %q, %q", n.Name, n.Description)
	}
	if report := w.up(t); len(report.Changes) != 0 {
		t.Errorf("a second up changed %v", report.Changes)
	}
	if _, err := w.run(t).Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := w.things(t); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}

// TestWhatIsNotFreeIsNotAdopted refuses what another environment has, a second
// thing for a step, and what does not exist; a half-made adoption is gone on
// with.
func TestWhatIsNotFreeIsNotAdopted(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	w := newWorld(t, cloud, plain)
	ids := byHand(t, w)
	adopt := func(environment, step, id string) error {
		return w.inventory.Adopt(t.Context(), stacks.Adoptable()[step], ownership.New(environment, step), id)
	}
	must[faultinject.Rule](t)(cloud.Env.Faults.Add(faultinject.Rule{Service: "network", Method: http.MethodPut, Path: "/v2.0/networks/*/tags", Status: http.StatusInternalServerError, Times: 1}))
	if err := adopt("prod", stacks.StepNetwork, ids[stacks.StepNetwork]); err == nil {
		t.Fatal("the fault did not come")
	}
	if err := adopt("prod", stacks.StepNetwork, ids[stacks.StepNetwork]); err != nil {
		t.Fatalf("again: %v", err)
	}
	if err := adopt("prod", stacks.StepData, ids[stacks.StepData]); err != nil {
		t.Fatal(err)
	}
	network, _ := w.clients.Network()
	second := must[*networks.Network](t)(networks.Create(t.Context(), network, networks.CreateOpts{Name: "second"}).Extract())
	for name, test := range map[string]struct{ environment, step, id, want string }{
		"another's network": {"test", stacks.StepNetwork, ids[stacks.StepNetwork], "network of environment prod"},
		"another's volume":  {"test", stacks.StepData, ids[stacks.StepData], "seed-data of environment prod"},
		"a second one":      {"prod", stacks.StepNetwork, second.ID, "already has a network for network: " + ids[stacks.StepNetwork]},
		"none":              {"prod", stacks.StepRouter, "4f0d5d4e-0000-4000-8000-000000000000", "does not exist"},
	} {
		if err := adopt(test.environment, test.step, test.id); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := must[*networks.Network](t)(networks.Get(t.Context(), network, second.ID).Extract()); n.Name != "second" || len(n.Tags) != 0 {
		t.Errorf("the refused network is %q with %v", n.Name, n.Tags)
	}
}

// TestWhatCannotBecomeAsWantedIsRefused adopts a subnet of another range: up says
// so instead of taking it for what the file says, and leaves it.
func TestWhatCannotBecomeAsWantedIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain)
	network, _ := w.clients.Network()
	n := must[*networks.Network](t)(networks.Create(t.Context(), network, networks.CreateOpts{Name: "lab"}).Extract())
	s := must[*subnets.Subnet](t)(subnets.Create(t.Context(), network, subnets.CreateOpts{Name: "lab", NetworkID: n.ID, IPVersion: 4, CIDR: "10.99.0.0/24"}).Extract())
	for step, id := range map[string]string{stacks.StepNetwork: n.ID, stacks.StepSubnet: s.ID} {
		if err := w.inventory.Adopt(t.Context(), stacks.Adoptable()[step], ownership.New("prod", step), id); err != nil {
			t.Fatal(err)
		}
	}
	_, err := w.run(t).Up(t.Context(), w.env.Program)
	if said := report(err); !strings.Contains(said, "subnet prod-subnet") || !strings.Contains(said, "what cannot be changed: cidr;") {
		t.Errorf("up said %s", said)
	}
	if after := must[*subnets.Subnet](t)(subnets.Get(t.Context(), network, s.ID).Extract()); after.CIDR != "10.99.0.0/24" {
		t.Errorf("the subnet is %s now", after.CIDR)
	}
}
