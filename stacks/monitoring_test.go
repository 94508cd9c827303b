package stacks_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/slipway-sh/slipway/addons/monitoring/stack"
	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
)

// TestMonitoringIsOnTheSeedOrOnTheManagementCluster: on the seed it has folders of its data volume,
// and comes when controllers are there; with a management cluster it is there alone.
func TestMonitoringIsOnTheSeedOrOnTheManagementCluster(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec, step, after string
		folders           *stack.Folders
	}{
		"seed":               {"{}", stacks.StepSeedMonitoring, stacks.StepControllers, &stack.Folders{Node: "prod-seed", Path: "/var/lib/rancher/k3s/monitoring"}},
		"management cluster": {"{managementCluster: {controlPlane: {count: 1}}}", stacks.StepMonitoring, stacks.StepManagementControllers, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, sandboxtest.Start(t), plain+"spec: "+test.spec+"\n")
			w.env.Choices.Management = &preflight.ManagementChoices{ControlPlaneFlavor: "m1.large"}
			w.env.NodeImage = w.env.Image
			w.up(t)
			if w.has(t, test.step) {
				t.Error("monitoring that nobody asked for")
			}
			w.env.Equipment.Monitoring = wanted()
			w.up(t)
			var settings stack.Settings
			if err := json.Unmarshal([]byte(w.state(t, test.step).Text("settings")), &settings); err != nil {
				t.Fatal(err)
			}
			if (settings.Folders == nil) != (test.folders == nil) || test.folders != nil && *settings.Folders != *test.folders {
				t.Errorf("folders %+v, want %+v", settings.Folders, test.folders)
			}
			if before := w.before(t, test.step); !slices.Contains(before, test.after) {
				t.Errorf("it waits for %q", before)
			}
			w.env.Equipment.Monitoring = nil
			if w.up(t); w.has(t, test.step) {
				t.Error("monitoring that is no longer wanted stays")
			}
		})
	}
}

// TestMonitoringLeavesTheSeed when the environment gets a management cluster: there it is installed,
// and here deleted.
func TestMonitoringLeavesTheSeed(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	w, larger := newWorld(t, cloud, plain+"spec: {}\n"), newWorld(t, cloud, plain+"spec: {managementCluster: {controlPlane: {count: 1}}}\n")
	w.env.Choices.Management = &preflight.ManagementChoices{ControlPlaneFlavor: "m1.large"}
	w.env.NodeImage, w.env.Equipment.Monitoring = w.env.Image, wanted()
	w.up(t)
	w.env.Config.Spec.ManagementCluster = larger.env.Config.Spec.ManagementCluster
	if w.up(t); w.has(t, stacks.StepSeedMonitoring) || !w.has(t, stacks.StepMonitoring) {
		t.Error("monitoring did not move to the management cluster")
	}
}

// wanted are settings of monitoring.
func wanted() *stack.Settings {
	return &stack.Settings{Environment: "demo", Images: stack.Images{Prometheus: "p", Alertmanager: "a", NodeExporter: "n", KubeStateMetrics: "k"},
		Retention: "1h", VolumeGiB: 1, AlertRetention: "1h", AlertVolumeGiB: 1}
}
