package stacks_test

import (
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
)

// floating are the project's floating IPs by address.
func (w *world) floating(t *testing.T) map[string]floatingips.FloatingIP {
	t.Helper()
	client, _ := w.clients.Network()
	pages, err := floatingips.List(client, nil).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]floatingips.FloatingIP{}
	for _, f := range must[[]floatingips.FloatingIP](t)(floatingips.ExtractFloatingIPs(pages)) {
		all[f.FloatingIP] = f
	}
	return all
}

// reached wants the seed to be reached by one floating IP of a network, which
// leads to its port, and the project to have that many.
func (w *world) reached(t *testing.T, networkID string, count int) string {
	t.Helper()
	all := w.floating(t)
	address, _ := w.output(t, "seedAddress").(string)
	f, ok := all[address]
	if !ok || f.PortID != w.only(t, stacks.StepPort).ID || f.FloatingNetworkID != networkID || len(all) != count {
		t.Errorf("reached at %s, with %d floating IPs: %+v", address, len(all), all)
	}
	return address
}

// secondExternal is another external network, whose addresses are 203.0.113.x.
func secondExternal(t *testing.T, cloud *sandboxtest.Cloud) string {
	t.Helper()
	boss := cloud.Admin.Network(t)
	n := must[*networks.Network](t)(networks.Create(t.Context(), boss,
		external.CreateOptsExt{CreateOptsBuilder: networks.CreateOpts{Name: "internet"}, External: gophercloud.Enabled}).Extract())
	must[*subnets.Subnet](t)(subnets.Create(t.Context(), boss, subnets.CreateOpts{NetworkID: n.ID, CIDR: "203.0.113.0/24", IPVersion: 4}).Extract())
	return n.ID
}

// TestTheThreeWaysToAnAddress goes from a floating IP of the pool to one that the
// project has already, to none: each time the seed is reached as expected, and the
// project has no other floating IP than it must.
//
// proves: F12
func TestTheThreeWaysToAnAddress(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	w := newWorld(t, cloud, plain)
	pool := w.env.Choices.FloatingNetworkID
	client, _ := w.clients.Network()
	theirs := must[*floatingips.FloatingIP](t)(floatingips.Create(t.Context(), client, floatingips.CreateOpts{FloatingNetworkID: pool}).Extract())

	w.up(t)
	if made := w.only(t, stacks.StepAddress); made.ID == theirs.ID || w.reached(t, pool, 2) != made.Name {
		t.Errorf("from the pool: %+v", made)
	}
	w.env = newWorld(t, cloud, plain+"spec:\n  seed:\n    floatingIP: {address: "+theirs.FloatingIP+"}\n").env
	w.up(t)
	if address := w.reached(t, pool, 1); address != theirs.FloatingIP { // that of before is given back
		t.Errorf("fixed: reached at %s", address)
	}
	w.env = newWorld(t, cloud, plain+"spec:\n  seed:\n    floatingIP: {mode: none}\n").env
	w.up(t)
	if after := w.floating(t); len(after) != 1 || after[theirs.FloatingIP].ID != theirs.ID || after[theirs.FloatingIP].PortID != "" {
		t.Errorf("none: the borrowed address does not stay as it was: %+v", after)
	}
	w.reachedWithin(t)
}

// reachedWithin wants the seed to be reached by its port's own address.
func (w *world) reachedWithin(t *testing.T) {
	t.Helper()
	client, _ := w.clients.Network()
	port := must[*ports.Port](t)(ports.Get(t.Context(), client, w.only(t, stacks.StepPort).ID).Extract())
	if address := w.output(t, "seedAddress"); address != port.FixedIPs[0].IPAddress {
		t.Errorf("none: reached at %v, the port has %+v", address, port.FixedIPs)
	}
}

// proves: F12
func TestNoFloatingIPMakesNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain+"spec:\n  seed:\n    floatingIP: {mode: none}\n")
	w.up(t)
	if all := w.floating(t); len(all) > 0 {
		t.Errorf("made %+v", all)
	}
	w.reachedWithin(t)
}

// proves: F12
func TestAFloatingIPIsOfThePool(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	pool := secondExternal(t, cloud)
	w := newWorld(t, cloud, plain+"spec:\n  seed:\n    floatingIP: {pool: internet}\n")
	w.env.Choices.ExternalNetworkID, w.env.Choices.FloatingNetworkID = pool, pool // Neutron wants the router on it
	w.up(t)
	w.reached(t, pool, 1)
}
