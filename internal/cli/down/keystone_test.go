package down

import (
	"errors"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

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
