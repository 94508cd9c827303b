package stacks_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"

	own "github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/internal/localseed"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/internal/recovery/fence"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// An environment with a local seed has no server of its own in the cloud, nor what belongs to
// one but an empty group with the generation of the fence, and is complete when the objects
// have moved.
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
	want := []string{stacks.StepAccess, stacks.StepCredential, stacks.StepKeyPair, stacks.StepLocalSeed, stacks.StepManagementCluster, stacks.StepManagementClusterAPI, stacks.StepManagementControllers,
		stacks.StepManagementMove, stacks.StepManagementReady, stacks.StepNetwork, stacks.StepNodeImage, stacks.StepRouter, stacks.StepRouterInterface, stacks.StepSSHKey, stacks.StepSubnet}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the plan makes %q, not %q", got, want)
	}
	for _, change := range plan.Changes {
		if change.Name == stacks.StepAccess && slices.ContainsFunc(change.Properties, func(p engine.Property) bool { return strings.HasPrefix(p.Path, "rules[") }) {
			t.Errorf("the group of the fence lets somebody in: %+v", change.Properties)
		}
	}
	w.up(t)
	group := w.only(t, stacks.StepAccess)
	var looks own.Fence
	if err := json.Unmarshal([]byte(w.state(t, stacks.StepManagementControllers).Text("fence")), &looks); err != nil || looks.Environment != w.env.Config.Metadata.Name {
		t.Errorf("the controllers look at the fence of %q, %v", looks.Environment, err)
	}
	if drift := must[engine.Plan](t)(w.run(t).Refresh(t.Context(), true)); !drift.Empty() {
		t.Errorf("the cloud differs at once: %+v", drift.Changes)
	}
	if plan = must[engine.Plan](t)(w.run(t).Preview(t.Context(), w.env.Program)); !plan.Empty() {
		t.Errorf("a second run changes %+v", plan.Changes)
	}
	// A rebuild finds the fence in the cloud, without a state.
	network := must[*gophercloud.ServiceClient](t)(w.clients.Network())
	if fence.Step != stacks.StepAccess {
		t.Fatalf("the fence looks at %s", fence.Step)
	}
	f := fence.Fence{Network: network, Environment: w.env.Config.Metadata.Name}
	if err := f.Take(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	w.up(t)
	if now, err := f.Generation(t.Context()); err != nil || now != 2 || w.only(t, stacks.StepAccess).ID != group.ID {
		t.Errorf("after another run the generation is %d, %v", now, err)
	}
}
