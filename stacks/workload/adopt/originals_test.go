package adopt

import (
	"os"
	"path/filepath"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"
)

// TestOriginals plans for releases of capi-helm-charts' own charts, which are not here: the
// variable names a folder with one unpacked chart per version.
func TestOriginals(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("SLIPWAY_CAPI_HELM_CHARTS")
	if folder == "" {
		t.Skip("SLIPWAY_CAPI_HELM_CHARTS names no folder with charts of capi-helm-charts: run make adopt-originals")
	}
	entries, err := os.ReadDir(folder)
	must(t, err)
	for _, entry := range entries {
		chart := filepath.Join(folder, entry.Name())
		plans(t, entry.Name(), chart, original())
		files, err := filepath.Glob(filepath.Join(chart, "tests", "values_*.yaml")) // what the charts test themselves with
		must(t, err)
		for _, file := range files {
			values := map[string]any{}
			text, err := os.ReadFile(file)
			must(t, err)
			must(t, yaml.Unmarshal(text, &values))
			plans(t, entry.Name()+"/"+filepath.Base(file), chart, laid(values, original()))
		}
	}
}

// plans looks that a release of values would be adopted.
func plans(t *testing.T, name, chart string, values map[string]any) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		c, err := loader.Load(chart)
		must(t, err)
		w := newWorld(t)
		w.install("shops", "shop", c, values)
		p := w.plan("shop", "")
		text, err := yaml.Marshal(p)
		must(t, err)
		t.Logf("%s", text)
		if len(p.Clusters) != 1 || p.Clusters[0].Verdict != Adopt || p.Clusters[0].Rolls != 0 {
			t.Fatal(p.Refused())
		}
	})
}

// original are values as an operator of capi-helm-charts writes them.
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
		"fancy":  "what no chart knows",
	}
}
