package target

import (
	"testing"

	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// TestServicesAreInTheState with their own CAs, or without one if the operator's signs.
func TestServicesAreInTheState(t *testing.T) {
	t.Parallel()
	got := servicesOf([]engine.Resource{{Name: stacks.StepMagnumCatalog, Outputs: map[string]any{"url": "https://a:9511/v1"}}, {Name: stacks.StepMagnum, Outputs: map[string]any{"authority": "one"}},
		{Name: stacks.StepConsole, Outputs: map[string]any{"url": "https://b", "authority": ""}}, {Name: stacks.StepSeed, Outputs: map[string]any{"url": "https://c"}}})
	want := Services{Magnum: Service{URL: "https://a:9511/v1", authority: "one"}, Console: Service{URL: "https://b"}}
	if got != want {
		t.Errorf("%+v", got)
	}
	behind := servicesOf([]engine.Resource{{Name: stacks.StepMagnum, Outputs: map[string]any{"authority": "one"}}, {Name: stacks.StepMagnumTemplates, Outputs: map[string]any{"endpoint": "https://d:9511/v1"}}})
	if behind.Magnum.URL != "https://d:9511/v1" {
		t.Errorf("of one that is in no catalog: %+v", behind)
	}
	if got := servicesOf(nil); got != (Services{}) {
		t.Errorf("%+v of nothing", got)
	}
}
