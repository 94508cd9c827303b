package down

import (
	"testing"

	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

func TestWhoMayManageClusters(t *testing.T) {
	t.Parallel()
	server := func(step string) openstack.Resource {
		return openstack.Resource{Type: openstack.TypeServer, Step: step}
	}
	seed, plane := server(stacks.StepSeed), server(stacks.StepManagementCluster)
	begun := []engine.Resource{{Name: stacks.StepNetwork}, {Name: stacks.StepSeed}, {Name: stacks.StepK3s}}
	ready := append(begun[:3:3], engine.Resource{Name: stacks.StepClusterAPI})
	for name, test := range map[string]struct {
		things []openstack.Resource
		local  bool
		state  []engine.Resource
		want   bool
	}{
		"never made":                  {},
		"its port alone":              {things: []openstack.Resource{{Type: openstack.TypePort, Step: stacks.StepSeed}}, state: begun},
		"killed before Cluster API":   {things: []openstack.Resource{seed}, state: begun},
		"ran Cluster API":             {things: []openstack.Resource{seed}, state: ready, want: true},
		"state lost":                  {things: []openstack.Resource{seed}, want: true},
		"seed gone":                   {things: []openstack.Resource{plane}, state: ready},
		"seed and state gone":         {things: []openstack.Resource{plane}},
		"local, never made":           {local: true},
		"local, state lost":           {things: []openstack.Resource{plane}, local: true, want: true},
		"local, killed in the middle": {things: []openstack.Resource{plane}, local: true, state: begun},
	} {
		if got := mayManage(test.things, test.local, test.state); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
