package stacks_test

import (
	"slices"
	"testing"

	"github.com/slipway-sh/slipway/internal/localseed"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// An environment with a local seed has no server of its own in the cloud, nor what belongs to
// one, and is complete when the objects have moved.
func TestALocalSeedIsNoServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain+"spec: {seed: {provider: kind}, managementCluster: {controlPlane: {count: 1}}}\n")
	w.env.Choices.Management = &preflight.ManagementChoices{ControlPlaneFlavor: "m1.large"}
	w.env.NodeImage = w.env.Image
	w.env.Equipment.Local = localseed.Settings{Name: "slipway-prod", Owner: "prod@1", Image: "node"}
	plan := must[engine.Plan](t)(w.run(t).Preview(t.Context(), w.env.Program))
	var got []string
	for _, change := range plan.Changes {
		got = append(got, change.Name)
	}
	slices.Sort(got)
	want := []string{stacks.StepCredential, stacks.StepKeyPair, stacks.StepLocalSeed, stacks.StepManagementCluster, stacks.StepManagementClusterAPI, stacks.StepManagementControllers,
		stacks.StepManagementMove, stacks.StepManagementReady, stacks.StepNetwork, stacks.StepNodeImage, stacks.StepRouter, stacks.StepRouterInterface, stacks.StepSSHKey, stacks.StepSubnet}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the plan makes %q, not %q", got, want)
	}
}
