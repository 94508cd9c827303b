package target

import (
	"testing"

	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// TestAClusterKeepsItsExternalNetwork: one that was made without stays without.
func TestAClusterKeepsItsExternalNetwork(t *testing.T) {
	t.Parallel()
	made := func(values string) []engine.Resource {
		return []engine.Resource{{Name: stacks.StepSeed}, {Name: stacks.StepManagementCluster, Outputs: map[string]any{"values": values}}}
	}
	for name, test := range map[string]struct {
		there   []engine.Resource
		without bool
	}{
		"nothing":       {nil, false},
		"a seed":        {made("")[:1], false},
		"with one":      {made(`{"clusterNetworking": {"externalNetworkId": "ext"}}`), false},
		"without":       {made(`{"clusterNetworking": {"internalNetwork": {}}}`), true},
		"not yet known": {made(""), false},
	} {
		if got := withoutExternal(test.there); got != test.without {
			t.Errorf("%s: %v", name, got)
		}
	}
}
