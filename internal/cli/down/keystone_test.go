package down

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// TestWithoutAStateKeystoneIsNotForgotten: that users could not be deleted there is told with what to
// do about it, whether or not something is left in the project.
func TestWithoutAStateKeystoneIsNotForgotten(t *testing.T) {
	t.Parallel()
	refused := fault.New("Keystone", errors.New("the login is refused"), "name another login; or leave out spec.magnum")
	at := &target.Target{Loaded: &config.Loaded{Dir: t.TempDir(), Environment: &config.Environment{Metadata: config.Metadata{Name: "prod"}}}}
	failed := errors.Join(errors.New("the state cannot be read"), registered{refused})
	for name, test := range map[string]struct {
		left   []openstack.Resource
		failed error
	}{
		"nothing is left": {nil, settled(t.Context(), at, failed)},
		"a floating IP":   {[]openstack.Resource{{Name: "198.51.100.7"}}, failed},
	} {
		err := result{Environment: "prod", Left: test.left}.verdict(test.failed)
		if fault.ExitCode(err) != fault.ExitPartial || !errors.Is(err, refused) || fault.Remedy(err) != refused.Remedy {
			t.Errorf("%s: %v, exit code %d, fix %q", name, err, fault.ExitCode(err), fault.Remedy(err))
		}
	}
}

// TestUsersInKeystoneAreNotForgotten: what the engine could not delete there is told with the
// cause; the rest of a state that is out of date is not.
func TestUsersInKeystoneAreNotForgotten(t *testing.T) {
	t.Parallel()
	failed := errors.New("the administrator's login is refused")
	borrowed := map[string]any{"borrowed": true}
	for name, test := range map[string]struct {
		state []engine.Resource
		want  []string
	}{
		"no state":             {},
		"only servers":         {state: []engine.Resource{{Name: stacks.StepSeed}, {Name: stacks.StepManagementCluster}}},
		"a project of others":  {state: []engine.Resource{{Name: stacks.StepMagnumProject, Outputs: borrowed}}},
		"users":                {state: []engine.Resource{{Name: stacks.StepSeed}, {Name: stacks.StepMagnumUser}, {Name: stacks.StepMagnumAdministrator}}, want: []string{stacks.StepMagnumAdministrator, stacks.StepMagnumUser}},
		"a service of others":  {state: []engine.Resource{{Name: stacks.StepMagnumCatalog, Outputs: borrowed}}, want: []string{stacks.StepMagnumCatalog}},
		"a project of its own": {state: []engine.Resource{{Name: stacks.StepMagnumProject}}, want: []string{stacks.StepMagnumProject}},
	} {
		err := keptInKeystone(test.state, failed)
		if len(test.want) == 0 {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if fault.ExitCode(err) != fault.ExitPartial || !errors.Is(err, failed) || fault.Remedy(err) == "" || !strings.Contains(err.Error(), strings.Join(test.want, ", ")+" left") {
			t.Errorf("%s: %v, exit code %d", name, err, fault.ExitCode(err))
		}
	}
}

// fakeKeystone notes how often it was asked.
type fakeKeystone struct {
	asked   int
	refuses error
}

func (f *fakeKeystone) Unregister(context.Context, []openstack.Resource, event.Sink) error {
	f.asked++
	return f.refuses
}

// TestKeystoneIsAskedForWhatNoStateHas: a user that an up made and was killed before it noted it. What
// the engine could not delete, it tries again.
func TestKeystoneIsAskedForWhatNoStateHas(t *testing.T) {
	t.Parallel()
	failed, refused := errors.New("it failed"), errors.New("the login is refused")
	for name, test := range map[string]struct {
		state  fakeState
		failed error
		asks   fakeKeystone
		want   int
	}{
		"all of the state is gone":      {want: 1},
		"the administrator is refused":  {asks: fakeKeystone{refuses: refused}, want: 1},
		"the engine stopped before":     {state: fakeState{names: []string{stacks.StepMagnumUser}}, failed: failed},
		"the engine stopped afterwards": {state: fakeState{names: []string{stacks.StepNetwork}}, failed: failed, want: 1},
		"the state cannot be read":      {state: fakeState{unread: errors.New("no passphrase")}, failed: failed, want: 1},
	} {
		err := unregister(t.Context(), &test.asks, &test.state, nil, test.failed, event.Discard{})
		var stays registered
		if test.asks.asked != test.want || !errors.Is(err, test.asks.refuses) || errors.As(err, &stays) != (test.asks.refuses != nil) {
			t.Errorf("%s: asked %d times, want %d (%v)", name, test.asks.asked, test.want, err)
		}
	}
}
