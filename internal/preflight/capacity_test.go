package preflight

import (
	"slices"
	"testing"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// TestRoomForMoreMachines: what is needed for the environment and for an upgrade is set aside,
// and the quota that ends first is named.
func TestRoomForMoreMachines(t *testing.T) {
	t.Parallel()
	const cluster = `managementCluster: {controlPlane: {flavor: large, rootVolume: {sizeGiB: 25}}, nodeGroups: [{name: md-0, count: 2, flavor: large}, {name: big, count: 0, flavor: huge}]}`
	wide := func(s *cloud.Snapshot) {
		for i := range s.Quotas {
			s.Quotas[i].Limit = 1_000_000
		}
		s.Quotas[1].Limit, s.Quotas[1].Used = 50, 3 // cores: the seed and 4 + 3 machines need 32, so 15 are left
		s.Quotas[3].Limit = 7                       // volumes: 1 and 4 are needed, 2 are left
	}
	for name, test := range map[string]struct {
		change func(*cloud.Snapshot)
		want   []Room
	}{
		"two quotas": {wide, []Room{{"control-plane", "large", 2, "volumes"}, {"md-0", "large", 3, "cores"}, {"big", "huge", 1, "cores"}}},
		"no limit": {func(s *cloud.Snapshot) {
			s.Quotas = []cloud.Quota{{Service: cloud.Compute, Resource: "cores", Limit: -1}}
		}, []Room{{"control-plane", "large", -1, ""}, {"md-0", "large", -1, ""}, {"big", "huge", -1, ""}}},
		"used up": {func(s *cloud.Snapshot) {
			s.Quotas = []cloud.Quota{{Service: cloud.Compute, Resource: "ram", Limit: 10, Used: 90}}
		}, []Room{{"control-plane", "large", 0, "ram"}, {"md-0", "large", 0, "ram"}, {"big", "huge", 0, "ram"}}},
		"not told": {func(s *cloud.Snapshot) {
			s.Missing = append(s.Missing, cloud.Missing{Service: cloud.Compute, What: cloud.ListQuotas})
		}, nil},
		"one is full": {func(s *cloud.Snapshot) {
			wide(s)
			s.Quotas[5] = cloud.Quota{Service: cloud.Network, Resource: "ports", Limit: 9}
		}, []Room{{"control-plane", "large", 0, "ports"}, {"md-0", "large", 0, "ports"}, {"big", "huge", 0, "ports"}}},
	} {
		if r := check(t, cluster, test.change); !slices.Equal(r.Capacity.Room, test.want) {
			t.Errorf("%s: %+v, want %+v", name, r.Capacity.Room, test.want)
		}
	}
}

// TestCapacityHasAllQuotas, also those of which nothing is needed any more.
func TestCapacityHasAllQuotas(t *testing.T) {
	t.Parallel()
	r := check(t, "", func(s *cloud.Snapshot) {
		s.Quotas = []cloud.Quota{{Service: cloud.Compute, Resource: "cores", Limit: 20, Used: 18}, {Service: cloud.Network, Resource: "networks", Limit: 10, Used: 3}, {Service: cloud.Network, Resource: "ports", Limit: -1},
			{Service: cloud.LoadBalancer, Resource: "load_balancers", Limit: 5, Used: 5}, {Service: cloud.Compute, Resource: "key_pairs", Limit: 100}}
	})
	want := map[string][3]int{"cores": {4, 0, 2}, "networks": {1, 6, 0}, "ports": {3, -1, 0}, "load_balancers": {0, 0, 0}}
	if len(r.Capacity.Quotas) != len(want) || len(r.Capacity.Room) > 0 {
		t.Errorf("%+v", r.Capacity)
	}
	for _, q := range r.Capacity.Quotas {
		if got := [3]int{q.Need, q.Left(), q.Short}; got != want[q.Resource] {
			t.Errorf("%s: needed, left and short are %v, want %v", q.Resource, got, want[q.Resource])
		}
	}
}
