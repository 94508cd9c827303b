package down

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// inKeystone are the steps that only the engine deletes: users, a project and an entry of the
// catalog are in no list of the project's resources.
func inKeystone() []string {
	return []string{stacks.StepMagnumProject, stacks.StepMagnumUser, stacks.StepMagnumAdministrator, stacks.StepMagnumCatalog}
}

// registered is why what Keystone has of the environment stays.
type registered struct{ error }

// Unwrap returns the cause.
func (r registered) Unwrap() error { return r.error }

// settled is what failed although nothing is left in the project: the sweep deleted what the
// engine could not, but nothing in Keystone. A state that cannot be read tells nothing.
func settled(ctx context.Context, t *target.Target, failed error) error {
	var kept error
	var stays registered
	switch {
	case errors.As(failed, &stays):
		kept = failed
	case failed != nil:
		if state, err := t.Engine.Resources(ctx); err == nil {
			kept = keptInKeystone(state, failed)
		}
	}
	return errors.Join(kept, t.RemoveKubeconfigs())
}

// keptInKeystone says what a state still has of Keystone, with why the engine failed; nil if that
// is nothing.
func keptInKeystone(state []engine.Resource, failed error) error {
	var kept []string
	for _, r := range state {
		borrowed, _ := r.Outputs["borrowed"].(bool) // of somebody else, and stays
		if slices.Contains(inKeystone(), r.Name) && (!borrowed || r.Name != stacks.StepMagnumProject) {
			kept = append(kept, r.Name)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	slices.Sort(kept)
	return errors.Join(&fault.Fault{Exit: fault.ExitPartial, Object: "Keystone", Err: fmt.Errorf("%s left, and the state with it", strings.Join(kept, ", ")),
		Remedy: "remove the cause and run slipway down again; if a step can never be reached again, run slipway state forget STEP --dependents first"}, failed)
}
