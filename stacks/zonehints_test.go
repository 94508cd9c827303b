package stacks_test

import (
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
)

// TestZoneHintsAreSentWhereTheyAreKnown has clouds with both of Neutron's
// extensions, with either, and with none.
//
// proves: S-10
func TestZoneHintsAreSentWhereTheyAreKnown(t *testing.T) {
	t.Parallel()
	const ofNetworks, ofRouters = "network_availability_zone", "router_availability_zone"
	for name, missing := range map[string][]string{"both": nil, "networks only": {ofRouters}, "routers only": {ofNetworks}, "none": {ofNetworks, ofRouters}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := sandboxtest.Start(t)
			for _, alias := range missing {
				rule := faultinject.Rule{Service: "network", Method: "GET", Path: "/v2.0/extensions/" + alias, Status: 404}
				if _, err := cloud.Env.Faults.Add(rule); err != nil {
					t.Fatal(err)
				}
			}
			w := newWorld(t, cloud, plain)
			w.env.Choices.AvailabilityZoneHints = []string{"nova"}
			w.up(t)
			client, _ := w.clients.Network()
			network := must[*networks.Network](t)(networks.Get(t.Context(), client, w.only(t, stacks.StepNetwork).ID).Extract())
			router := must[*routers.Router](t)(routers.Get(t.Context(), client, w.only(t, stacks.StepRouter).ID).Extract())
			for alias, hints := range map[string][]string{ofNetworks: network.AvailabilityZoneHints, ofRouters: router.AvailabilityZoneHints} {
				if sent := slices.Equal(hints, []string{"nova"}); sent == slices.Contains(missing, alias) || len(hints) > 0 && !sent {
					t.Errorf("%s: hints %v", alias, hints)
				}
			}
		})
	}
}
