package target

import (
	"testing"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
)

// TestNoStateWithoutItsPassphrase: a pipeline without its protected variable would encrypt a new
// state with nothing.
func TestNoStateWithoutItsPassphrase(t *testing.T) {
	t.Parallel()
	loaded := &config.Loaded{Dir: t.TempDir(), Environment: &config.Environment{}}
	loaded.Environment.Spec.State.PassphraseEnv = "SLIPWAY_TEST_THAT_NOBODY_SETS"
	if phrase, err := Passphrase(loaded)(t.Context(), true); fault.ExitCode(err) != fault.ExitUsage {
		t.Errorf("%q, %v", phrase, err)
	}
}
