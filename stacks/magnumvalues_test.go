package stacks

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// Clusters of tenants have the mirrors that the management cluster has, and no
// login of the operator's.
func TestTenantsHaveTheMirrorsWithoutLogins(t *testing.T) {
	t.Parallel()
	login := seed.Registry{Username: "operator", Password: "secret-of-the-operator"}
	mirrored := login
	mirrored.Mirrors = []string{"https://corp:5000/v2/hub", "https://m"}
	for name, test := range map[string]struct {
		registries map[string]seed.Registry
		mirrors    bool
	}{
		"none":    {nil, false},
		"a login": {map[string]seed.Registry{"docker.io": login}, false},
		"mirrors": {map[string]seed.Registry{"docker.io": mirrored, "corp:5000": {Authority: "PEM"}, "quay.io": login}, true},
	} {
		e := managed(t, "managementCluster: {}, magnum: {}")
		e.Equipment.Registries = test.registries
		m, err := e.magnumValues("203.0.113.7", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any(nil)
		if mirrors := e.Values(made())["registryMirrors"]; mirrors != nil {
			want = map[string]any{"registryMirrors": mirrors}
		}
		if diff := cmp.Diff(want, m.ClusterValues); diff != "" || test.mirrors != (want != nil) {
			t.Errorf("%s: %s", name, diff)
		}
		if text, err := json.Marshal(m.ClusterValues); err != nil || strings.Contains(string(text), "operator") {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}

// TestTenantsHaveConfigDrives where the operator's file says that the cloud needs them.
func TestTenantsHaveConfigDrives(t *testing.T) {
	t.Parallel()
	e := managed(t, "managementCluster: {}, magnum: {}, configDrive: true")
	e.Equipment.Registries = map[string]seed.Registry{"docker.io": {Mirrors: []string{"https://m"}}}
	m, err := e.magnumValues("203.0.113.7", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"controlPlane.machineConfigDrive": "true", "nodeGroupDefaults.machineConfigDrive": "true"} {
		if got := lookUp(t, m.ClusterValues, path); got != want {
			t.Errorf("%s is %s", path, got)
		}
	}
	if m.ClusterValues["registryMirrors"] == nil {
		t.Error("the mirrors are gone")
	}
}

// TestOtherManagementClustersAreSettings of the API.
func TestOtherManagementClustersAreSettings(t *testing.T) {
	t.Parallel()
	e := managed(t, "managementCluster: {}, magnum: {managementClusters: [{name: west, url: 'https://west:9511/v1', caFile: west.pem}], closed: [prod]}")
	e.Equipment.Magnum.Authorities = "PEM of west"
	got, err := e.magnumValues("203.0.113.7", nil, nil)
	if err != nil || got.Name != e.Config.Metadata.Name || !slices.Equal(got.Members, []controllers.Member{{Name: "west", URL: "https://west:9511/v1"}}) ||
		!slices.Equal(got.Closed, []string{"prod"}) || got.MembersCA != "PEM of west" {
		t.Errorf("%+v, %v", got, err)
	}
}
