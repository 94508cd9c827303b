package stacks_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// before are all the steps that a step waits for, straight or by way of others.
func (w *world) before(t *testing.T, step string) []string {
	t.Helper()
	var state struct {
		Deployment struct {
			Resources []struct {
				URN          string
				Dependencies []string
			}
		}
	}
	if err := json.Unmarshal(must[[]byte](t)(w.run(t).Export(t.Context())), &state); err != nil {
		t.Fatal(err)
	}
	name := func(urn string) string { return urn[strings.LastIndex(urn, ":")+1:] }
	direct := map[string][]string{}
	for _, r := range state.Deployment.Resources {
		for _, urn := range r.Dependencies {
			direct[name(r.URN)] = append(direct[name(r.URN)], name(urn))
		}
	}
	all := map[string]bool{}
	var walk func(string)
	walk = func(of string) {
		for _, needed := range direct[of] {
			if !all[needed] {
				all[needed] = true
				walk(needed)
			}
		}
	}
	walk(step)
	return slices.Sorted(maps.Keys(all))
}

// Cluster API goes on the first node, while the other control planes join: but
// its monitoring needs an addon. What is spread over nodes needs them all.
func TestClusterAPIDoesNotWaitForTheWholeCluster(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values string
		waits  bool
	}{
		"plain":     {"", false},
		"tainted":   {", values: {nodeGroupDefaults: {nodeTaints: [{key: gpu, effect: NoSchedule}]}}", true},
		"monitored": {", values: {addons: {monitoring: {enabled: true}}}", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, sandboxtest.Start(t), plain+"spec: {managementCluster: {controlPlane: {count: 3}"+test.values+"}}\n")
			w.env.Choices.Management = &preflight.ManagementChoices{ControlPlaneFlavor: "m1.large"}
			w.env.NodeImage = w.env.Image
			w.up(t)
			if got := w.before(t, stacks.StepManagementClusterAPI); slices.Contains(got, stacks.StepManagementReady) != test.waits || !slices.Contains(got, stacks.StepManagementCluster) {
				t.Errorf("Cluster API waits for %q", got)
			}
			if got := w.before(t, stacks.StepManagementControllers); !slices.Contains(got, stacks.StepManagementReady) {
				t.Errorf("the controllers wait for %q", got)
			}
		})
	}
}

// has reports whether the state has a resource.
func (w *world) has(t *testing.T, name string) bool {
	t.Helper()
	return slices.ContainsFunc(must[[]engine.Resource](t)(w.run(t).Resources(t.Context())), func(r engine.Resource) bool { return r.Name == name })
}

// A rebuild does not wait for more than the first node; a program without Early completes the
// environment, and makes nothing anew.
func TestAnEarlyManagementCluster(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec  string
		early bool
	}{
		"plain":     {"{managementCluster: {controlPlane: {count: 3}}}", true},
		"monitored": {"{managementCluster: {controlPlane: {count: 3}, values: {addons: {monitoring: {enabled: true}}}}}", false},
		"pivot":     {"{seed: {role: pivot}, managementCluster: {controlPlane: {count: 3}}}", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, sandboxtest.Start(t), plain+"spec: "+test.spec+"\n")
			w.env.Choices.Management = &preflight.ManagementChoices{ControlPlaneFlavor: "m1.large"}
			w.env.NodeImage = w.env.Image
			w.env.Early = true
			w.up(t)
			if w.has(t, stacks.StepManagementReady) == test.early || w.has(t, stacks.StepManagementControllers) == test.early || !w.has(t, stacks.StepManagementClusterAPI) {
				t.Error("it did not end with Cluster API on the first node")
			}
			w.env.Early = false
			done := w.up(t)
			if got := w.before(t, stacks.StepManagementControllers); !slices.Contains(got, stacks.StepManagementReady) {
				t.Errorf("in the whole cluster the controllers wait for %q", got)
			}
			if done.Changes["delete"]+done.Changes["replace"] > 0 || test.early != (done.Changes["create"] > 0) {
				t.Errorf("completing it did %+v", done)
			}
		})
	}
}

// A change of the cluster is waited for to its end.
func TestAChangedClusterIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain+"spec: {managementCluster: {controlPlane: {count: 1}}}\n")
	w.env.Choices.Management = &preflight.ManagementChoices{ControlPlaneFlavor: "m1.large"}
	w.env.NodeImage = w.env.Image
	w.up(t)
	first := w.state(t, stacks.StepManagementReady).Text("wanted")
	if w.up(t); w.state(t, stacks.StepManagementReady).Text("wanted") != first || first == "" {
		t.Errorf("%q is waited for anew without a change", first)
	}
	w.env.Config.Spec.ManagementCluster.ControlPlane.Count = 3
	if w.up(t); w.state(t, stacks.StepManagementReady).Text("wanted") == first {
		t.Error("a changed cluster is not waited for")
	}
}
