package stacks_test

import (
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
)

// Ports of machines that were lost keep the security groups of a rebuilt management cluster
// in use. Only they go: not those of servers that live, nor those of others.
func TestPortsOfLostMachinesAreFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain)
	w.up(t)
	network, _ := w.clients.Network()
	make := func(name string, mark ownership.Owner, owner, device string) {
		p := must[*ports.Port](t)(ports.Create(t.Context(), network, ports.CreateOpts{Name: name, NetworkID: w.only(t, stacks.StepNetwork).ID, DeviceOwner: owner, DeviceID: device}).Extract())
		if _, err := attributestags.ReplaceAll(t.Context(), network, "ports", p.ID, attributestags.ReplaceAllOpts{Tags: mark.Tags()}).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	own := ownership.New("prod", stacks.StepManagementCluster)
	make("let go by Nova", own, "", "")
	make("of a server that Nova does not know", own, "compute:nova", "4ab3c1d2-0000-4000-8000-000000000001")
	make("of a share", own, "manila:share", "4ab3c1d2-0000-4000-8000-000000000002")
	make("of another environment", ownership.New("stage", stacks.StepManagementCluster), "", "")
	make("of another step", ownership.New("prod", stacks.StepPort), "", "")
	loose, err := w.inventory.LoosePorts(t.Context(), "prod", stacks.StepManagementCluster)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range loose {
		names = append(names, one.Name)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"let go by Nova", "of a server that Nova does not know"}) {
		t.Errorf("found %q", names)
	}
	if err := w.inventory.Sweep(t.Context(), loose, event.Discard{}); err != nil {
		t.Fatal(err)
	}
	if loose, err := w.inventory.LoosePorts(t.Context(), "prod", stacks.StepPort); err != nil || len(loose) != 1 || loose[0].Name != "of another step" {
		t.Errorf("of the seed, which lives: %v (%v)", loose, err)
	}
}
