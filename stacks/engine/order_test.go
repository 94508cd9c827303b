package engine

import (
	"reflect"
	"testing"
)

// TestOrderIn a state: of what is there, and of what a run is making.
func TestOrderIn(t *testing.T) {
	t.Parallel()
	const urn = "urn:pulumi:prod::slipway::openstack:X::"
	got, err := orderIn([]byte(`{"version": 3, "deployment": {"resources": [{"urn": "` + urn + `network", "type": "openstack:X"}, {"urn": "` + urn + `seed", "dependencies": ["` + urn + `network", "` + urn + `seed-image"]}],
		"pending_operations": [{"type": "creating", "resource": {"urn": "` + urn + `k3s", "dependencies": ["` + urn + `seed"]}}]}}`))
	if want := map[string][]string{"network": {}, "seed": {"network", "seed-image"}, "k3s": {"seed"}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := orderIn([]byte("no state")); err == nil {
		t.Error("it was read")
	}
}
