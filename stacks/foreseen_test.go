package stacks_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/slipway-sh/slipway/internal/preflight"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/stacks"
)

// TestForeseenValues: without a change they are those of the state, whatever the things in
// the cloud have become; a change of the file is in them, and the image that is to come.
func TestForeseenValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandboxtest.Start(t), plain+"spec:\n  managementCluster: {controlPlane: {count: 3}, kubernetesVersion: v1.33.5, apiServer: {allowedCIDRs: [10.0.0.0/8]},\n    values: {clusterNetworking: {allNodesSecurityGroupRules: [{name: mine}]}}}\n")
	w.env.Choices.Management = &preflight.ManagementChoices{ControlPlaneFlavor: "m1.large"}
	for name, made := range map[string]stacks.Made{
		"all":    {ImageID: "image", KeyPair: "pair", NetworkID: "net", SubnetID: "subnet", CredentialID: "c", CredentialSecret: "s", SeedAddress: "203.0.113.7", RouterAddress: "203.0.113.9", SeedGroupID: "g", NetworkMTU: 1442},
		"little": {ImageID: "image", KeyPair: "pair", NetworkID: "net", CredentialID: "c", CredentialSecret: "s"},
	} {
		now := decoded(t, w.env.Values(made))
		got, err := w.env.Foreseen(now, "image")
		if err != nil || !reflect.DeepEqual(decoded(t, got), now) {
			t.Errorf("%s: %v\n%v, not\n%v", name, err, got, now)
		}
		newer := *w.env.Config
		m := *newer.Spec.ManagementCluster
		m.KubernetesVersion = "v1.34.4"
		newer.Spec.ManagementCluster = &m
		env := w.env
		env.Config = &newer
		got, err = env.Foreseen(now, "to-be-uploaded")
		now["kubernetesVersion"], now["machineImageId"] = "1.34.4", "to-be-uploaded"
		if err != nil || !reflect.DeepEqual(decoded(t, got), now) {
			t.Errorf("%s, changed: %v\n%v, not\n%v", name, err, got, now)
		}
	}
}

func decoded(t *testing.T, values map[string]any) (all map[string]any) {
	t.Helper()
	text, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}
