package down

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// fakeState has names, or cannot be read.
type fakeState struct {
	names, forgotten []string
	unread, refuses  error
}

func (f *fakeState) Resources(context.Context) ([]engine.Resource, error) {
	var all []engine.Resource
	for _, name := range f.names {
		all = append(all, engine.Resource{Name: name})
	}
	return all, f.unread
}

func (f *fakeState) Forget(_ context.Context, name string, _ bool) error {
	f.forgotten = append(f.forgotten, name)
	return f.refuses
}

// TestWhatWentWithTheManagementCluster is forgotten, and nothing else: the engine would look for
// it on a cluster that is gone, and leave the Magnum API's users in Keystone.
func TestWhatWentWithTheManagementCluster(t *testing.T) {
	t.Parallel()
	locked := errors.New("locked")
	for name, c := range map[string]struct {
		state fakeState
		want  []string
		err   error
	}{
		"all":          {state: fakeState{names: []string{stacks.StepSeed, stacks.StepMonitoring, stacks.StepMagnumUser, stacks.StepVelero, stacks.StepConsole}}, want: []string{stacks.StepMonitoring, stacks.StepVelero, stacks.StepConsole}},
		"on the seed":  {state: fakeState{names: []string{stacks.StepSeed, stacks.StepSeedMonitoring}}, want: []string{stacks.StepSeedMonitoring}},
		"none":         {state: fakeState{names: []string{stacks.StepSeed, stacks.StepManagementCluster}}},
		"unreadable":   {state: fakeState{names: []string{stacks.StepConsole}, unread: errors.New("no passphrase")}},
		"another runs": {state: fakeState{names: []string{stacks.StepConsole, stacks.StepVelero}, refuses: locked}, want: []string{stacks.StepConsole}, err: locked},
	} {
		err := forgetResidents(t.Context(), &c.state)
		if !slices.Equal(c.state.forgotten, c.want) || !errors.Is(err, c.err) {
			t.Errorf("%s: forgot %q, want %q (%v)", name, c.state.forgotten, c.want, err)
		}
	}
}
