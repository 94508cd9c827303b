package down

import (
	"context"
	"slices"

	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// residents are the steps that lie on the management cluster alone, or on the seed, and that the
// engine deletes there.
func residents() []string {
	return []string{stacks.StepConsole, stacks.StepVelero, stacks.StepMonitoring, stacks.StepSeedMonitoring}
}

// stateKeeper is what the engine does with a state.
type stateKeeper interface {
	Resources(ctx context.Context) ([]engine.Resource, error)
	Forget(ctx context.Context, name string, dependents bool) error
}

// forgetResidents takes out of the state what went with the management cluster or the seed. The engine would
// look for it there in vain, and stop before what Keystone has. A state that cannot be read has
// nothing to forget.
func forgetResidents(ctx context.Context, state stateKeeper) error {
	known, err := state.Resources(ctx)
	if err != nil {
		return nil //nolint:nilerr // the sweep needs no state
	}
	for _, r := range known {
		if !slices.Contains(residents(), r.Name) {
			continue
		}
		if err := state.Forget(ctx, r.Name, false); err != nil {
			return err
		}
	}
	return nil
}
