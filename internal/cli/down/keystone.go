package down

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/openstack"
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

// registrar deletes what Keystone has of an environment by its ownership tags.
type registrar interface {
	Unregister(ctx context.Context, things []openstack.Resource, progress event.Sink) error
}

// unregister deletes what Keystone has of the environment and no state: the state is lost, or an up
// was killed between making a user and noting it. What a state still has, since the engine failed,
// is left to the engine, which is to delete it with the next run.
func unregister(ctx context.Context, keystone registrar, state resources, before []openstack.Resource, failed error, progress event.Sink) error {
	if failed != nil {
		if known, err := state.Resources(ctx); err == nil && keptInKeystone(known, failed) != nil {
			return nil
		}
	}
	if err := keystone.Unregister(ctx, before, progress); err != nil {
		return registered{err}
	}
	return nil
}

// resources are those of a state.
type resources interface {
	Resources(ctx context.Context) ([]engine.Resource, error)
}

// addressed reports whether the project has the address of the Magnum API. It must stay until
// Keystone has nothing of the environment: what a former release made there is known by it.
func addressed(things []openstack.Resource) bool {
	return slices.ContainsFunc(things, func(r openstack.Resource) bool { return r.Step == stacks.StepMagnumAddress })
}

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
