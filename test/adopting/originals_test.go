package adopting

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

// TestOriginals adopts releases of capi-helm-charts' own charts, which are not here: the
// variable names a folder with one unpacked chart per version.
func TestOriginals(t *testing.T) {
	folder := os.Getenv("SLIPWAY_CAPI_HELM_CHARTS")
	if folder == "" {
		t.Skip("SLIPWAY_CAPI_HELM_CHARTS names no folder with charts of capi-helm-charts")
	}
	s := manage(t)
	entries, err := os.ReadDir(folder)
	must(t, err)
	for _, entry := range entries {
		version := entry.Name()
		t.Run(version, func(t *testing.T) {
			c, err := loader.Load(filepath.Join(folder, version))
			must(t, err)
			s := &site{t, s.config, s.client}
			name := "c" + strings.ReplaceAll(version, ".", "-")
			s.install(name, name, c, original())
			s.adopts(name, name)
		})
	}
}

// adopts plans, adopts and looks whether anything was touched.
func (s *site) adopts(namespace, name string) {
	s.t.Helper()
	before := s.versions(namespace)
	p := s.plan(s.t.Context(), name, namespace)
	text, _ := yaml.Marshal(p)
	s.t.Logf("%s", text)
	if len(p.Clusters) != 1 || p.Clusters[0].Verdict != adopt.Adopt || p.Clusters[0].Rolls != 0 {
		s.t.Fatalf("not adopted: %v", p.Refused())
	}
	s.take(p)
	if diff := cmp.Diff(before, s.versions(namespace)); diff != "" {
		s.t.Errorf("adopting wrote: %s", diff)
	}
	if again := s.plan(s.t.Context(), name, namespace); again.Clusters[0].Verdict != adopt.Ours {
		s.t.Errorf("after the adoption: %+v", again.Clusters[0])
	}
}

// original are values as an operator writes them.
func original() map[string]any {
	return map[string]any{
		"kubernetesVersion": "1.33.5", "machineImageId": "5f2fd0bc-3a1e-4b8d-9d1c-3d6e6f6cf7a1", "machineSSHKeyName": "ops",
		"clouds": map[string]any{"openstack": map[string]any{"auth": map[string]any{"auth_url": "https://k/v3", "application_credential_id": "id", "project_id": "p",
			"application_credential_secret": "hush"}, "region_name": "r", "interface": "public", "identity_api_version": 3, "auth_type": "v3applicationcredential"}},
		"clusterNetworking": map[string]any{"dnsNameservers": []any{"192.0.2.53"}, "externalNetworkId": "7a1e0b8c-0000-4000-8000-000000000001",
			"internalNetwork": map[string]any{"networkFilter": map[string]any{"id": "7a1e0b8c-0000-4000-8000-000000000002"}}},
		"apiServer":         map[string]any{"loadBalancerProvider": "amphora"},
		"etcd":              map[string]any{"blockDevice": map[string]any{"size": 10, "type": "Volume", "volumeType": "fast"}},
		"controlPlane":      map[string]any{"machineFlavor": "m1.medium", "machineCount": 3, "machineRootVolume": map[string]any{"diskSize": 40}},
		"nodeGroupDefaults": map[string]any{"machineFlavor": "m1.large", "nodeLabels": map[string]any{"pool": "a"}},
		"nodeGroups": []any{map[string]any{"name": "md-0", "machineCount": 2, "healthCheck": map[string]any{"enabled": false}},
			map[string]any{"name": "gpu", "machineFlavor": "g1.large", "machineCount": 1, "failureDomain": "az2"}},
		"addons": map[string]any{"monitoring": map[string]any{"enabled": false}, "kubernetesDashboard": map[string]any{"enabled": false}},
	}
}
