package up

import (
	"testing"

	"github.com/slipway-sh/slipway/stacks/engine"
)

// TestBackupBeforeUpgrades: of what is there, not of what is made for the first time.
func TestBackupBeforeUpgrades(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		changes []engine.Change
		want    bool
	}{
		"nothing":          {nil, false},
		"controllers":      {[]engine.Change{{Operation: engine.Update, Name: "management-cluster-api"}}, true},
		"Kubernetes":       {[]engine.Change{{Operation: engine.Create, Name: "node-image"}, {Operation: engine.Update, Name: "management-cluster"}}, true},
		"a new seed":       {[]engine.Change{{Operation: engine.Replace, Name: "seed"}}, true},
		"Magnum goes":      {[]engine.Change{{Operation: engine.Delete, Name: "magnum"}}, true},
		"Magnum comes":     {[]engine.Change{{Operation: engine.Create, Name: "magnum"}}, false},
		"a security group": {[]engine.Change{{Operation: engine.Update, Name: "seed-access"}}, false},
	} {
		if got := upgrades(engine.Plan{Changes: test.changes}); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	seed, management := engine.Resource{Name: "seed"}, engine.Resource{Name: "management-cluster", Outputs: map[string]any{"adminKubeconfig": "x"}}
	for name, test := range map[string]struct {
		there []engine.Resource
		want  bool
	}{
		"both":               {[]engine.Resource{seed, management}, true},
		"no seed":            {[]engine.Resource{management}, false},
		"no cluster":         {[]engine.Resource{seed}, false},
		"never ready":        {[]engine.Resource{seed, {Name: "management-cluster"}}, false},
		"nothing that is up": {nil, false},
	} {
		if got := running(test.there); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
