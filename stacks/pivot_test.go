package stacks_test

import (
	"slices"
	"testing"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// TestTheRoleOfTheSeedMovesTheObjects: the move is the last step of an
// environment that pivots, and goes when the role does.
func TestTheRoleOfTheSeedMovesTheObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain+"spec: {managementCluster: {controlPlane: {count: 1}}}\n")
	w.env.Choices.Management = &preflight.ManagementChoices{ControlPlaneFlavor: "m1.large"}
	w.env.NodeImage = w.env.Image
	w.up(t)
	for _, step := range []struct {
		role    string
		changes []string
	}{
		{config.RolePivot, []string{"create management-move"}},
		{config.RolePivot, nil},
		{config.RolePermanent, []string{"delete management-move"}},
		{config.RolePermanent, nil},
	} {
		w.env.Config.Spec.Seed.Role = step.role
		plan := must[engine.Plan](t)(w.run(t).Preview(t.Context(), w.env.Program))
		var got []string
		for _, change := range plan.Changes {
			got = append(got, string(change.Operation)+" "+change.Name)
		}
		if !slices.Equal(got, step.changes) {
			t.Errorf("%s: %q, want %q", step.role, got, step.changes)
		}
		w.up(t)
	}
}

func TestTheMoveComesAfterTheControllers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain+"spec: {seed: {role: pivot}, managementCluster: {controlPlane: {count: 1}}}\n")
	w.env.Choices.Management = &preflight.ManagementChoices{ControlPlaneFlavor: "m1.large"}
	w.env.NodeImage = w.env.Image
	w.up(t)
	ended := map[string]int{}
	for i, e := range w.events.Events() {
		if e.State == event.Done {
			ended[e.Step] = i
		}
	}
	for _, step := range []string{stacks.StepControllers, stacks.StepClusterAPI, stacks.StepManagementClusterAPI, stacks.StepManagementControllers, stacks.StepManagementReady} {
		if ended[step] == 0 || ended[step] > ended[stacks.StepManagementMove] {
			t.Errorf("%s ended as %d, the move as %d", step, ended[step], ended[stacks.StepManagementMove])
		}
	}
	// Nobody stands by on the seed; another node of the management cluster can take over.
	for step, want := range map[string]any{stacks.StepClusterAPI: true, stacks.StepControllers: true,
		stacks.StepManagementClusterAPI: nil, stacks.StepManagementControllers: nil} {
		if got := w.state(t, step).Outputs["alone"]; got != want && !(got == false && want == nil) {
			t.Errorf("%s is alone: %v, want %v", step, got, want)
		}
	}
}
