package up

import (
	"errors"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/recovery/fence"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
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

// TestWithoutABackup: what the fix is depends on why there is none.
func TestWithoutABackup(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cause error
		fix   string
	}{
		"a target that is full": {errors.New("507 Insufficient Storage"), "--skip-backup"},
		"half a rebuild":        {fault.New("ConfigMap", restore.ErrIncomplete, "finish it with slipway recover"), "slipway recover"},
		"a replaced cluster":    {fault.New("management cluster", fence.ErrFenced, "run it where the environment was rebuilt"), "where the environment was rebuilt"},
	} {
		err := unsaved(test.cause)
		if !errors.Is(err, test.cause) || !strings.Contains(err.Error(), "nothing was changed") || !strings.Contains(fault.Remedy(err), test.fix) {
			t.Errorf("%s: %v (%s)", name, err, fault.Remedy(err))
		}
	}
}
