package csar

import (
	"archive/zip"
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/clusterctl"
	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/kube"
)

// types stand in for ETSI's, which the user has.
func types() map[string][]byte {
	return map[string][]byte{commonTypes: []byte("description: common\n"), vnfdTypes: []byte("description: vnfd\n")}
}

func shop(t *testing.T, edits ...func(*Spec)) Spec {
	t.Helper()
	text, err := os.ReadFile("testdata/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseSpec("shop.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range edits {
		edit(&s)
	}
	return s
}

func workload(t *testing.T, variant Variant, edits ...func(*Spec)) (*Package, []byte) {
	t.Helper()
	p, err := Workload(shop(t, edits...), Options{Variant: variant, Types: types()})
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.Zip()
	if err != nil {
		t.Fatal(err)
	}
	return p, text
}

// layout checks a package's files and that its digests are verified: a change to any
// artifact is noticed.
func layout(t *testing.T, p *Package, text []byte, want ...string) {
	t.Helper()
	content, err := Verify(text)
	if err != nil {
		t.Fatal(err)
	}
	if content.ID != p.ID {
		t.Errorf("the package says vnfdId %s, not %s", content.ID, p.ID)
	}
	for _, name := range want {
		if len(content.Files[name]) == 0 {
			t.Errorf("no file %s in %v", name, slices.Sorted(maps.Keys(content.Files)))
		}
	}
	for name := range content.Files {
		if contentType(name) == "" {
			continue
		}
		_, err := Verify(repacked(t, text, func(files map[string][]byte) { files[name] = append(files[name], ' ') }))
		if err == nil || !strings.Contains(err.Error(), name+": its digest is") {
			t.Errorf("%s changed: %v", name, err)
		}
	}
}

// repacked is a package with other files.
func repacked(t *testing.T, text []byte, edit func(map[string][]byte)) []byte {
	t.Helper()
	files, err := unpack(text)
	if err != nil {
		t.Fatal(err)
	}
	edit(files)
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write(files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestWorkloadPackage makes packages of both variants twice.
//
// proves: T-02
func TestWorkloadPackage(t *testing.T) {
	t.Parallel()
	ids := map[string]string{}
	for variant, deployed := range map[Variant][]string{
		Helm: {"Files/kubernetes/openstack-cluster-1.0.0.tgz"},
		Raw:  {"Files/kubernetes/10-cluster.yaml", "Files/kubernetes/20-anchors.yaml"},
	} {
		p, text := workload(t, variant)
		if _, again := workload(t, variant); !bytes.Equal(text, again) {
			t.Errorf("%s: another package the second time", variant)
		}
		if !slices.Equal(p.Deploy, deployed) {
			t.Errorf("%s deploys %v", variant, p.Deploy)
		}
		layout(t, p, text, append(deployed, "TOSCA-Metadata/TOSCA.meta", "Definitions/etsi_nfv_sol001_common_types.yaml", "Definitions/etsi_nfv_sol001_vnfd_types.yaml",
			"Definitions/shop_types.yaml", "Definitions/shop_top.vnfd.yaml", "Definitions/shop_df_default.yaml", "Scripts/slipway_vnf.py")...)
		for change, edit := range map[string]func(*Spec){
			"nothing":  func(*Spec) {},
			"a value":  func(s *Spec) { s.Values["kubernetesVersion"] = "1.34.5" },
			"a scale":  func(s *Spec) { s.Scaling["workers"] = Scaling{Min: new(3)} },
			"a number": func(s *Spec) { s.Version = "1.3" },
			"the provider": func(s *Spec) {
				s.Provider = "Other"
			},
		} {
			other, _ := workload(t, variant, edit)
			if same := other.ID == p.ID; same != (change == "nothing") {
				t.Errorf("%s, %s is changed: the same vnfdId: %v", variant, change, same)
			}
		}
		if by := ids[p.ID]; by != "" {
			t.Errorf("%s has the vnfdId of %s", variant, by)
		}
		ids[p.ID] = string(variant)
	}
}

// chartOf is the chart in a package.
func chartOf(t *testing.T, p *Package) *chart.Chart {
	t.Helper()
	loaded, err := loader.LoadArchive(bytes.NewReader(p.files[p.Deploy[0]]))
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// rendered are the objects of a chart's release as Tacker makes it, by kind and name.
func rendered(t *testing.T, from *chart.Chart, release string, given map[string]any) map[string]string {
	t.Helper()
	values, err := chartutil.ToRenderValues(from, given, chartutil.ReleaseOptions{Name: release, Namespace: "shop", IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(from, values)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, ".yaml") {
			text.WriteString("\n---\n" + files[name])
		}
	}
	return byName(t, text.String())
}

// key names an object; releases of the tests are in one namespace.
func key(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" || o.GetNamespace() == "shop" {
		return o.GetKind() + " " + o.GetName()
	}
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}

func byName(t *testing.T, text string) map[string]string {
	t.Helper()
	objects, err := kube.Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, o := range objects {
		one, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		all[key(o)] = string(one)
	}
	return all
}

// TestPackagedChart: the chart in a package makes what openstack-cluster makes, and the
// anchors. Values of an older release, which --reuse-values keeps, change nothing.
func TestPackagedChart(t *testing.T) {
	t.Parallel()
	const release = "vnf6a1d8c1e6f4b4f0c9d0e2b7a5c3d1e0f"
	snapshots := func(s *Spec) { // their definitions are a file of the chart
		s.Values["addons"] = map[string]any{"openstack": map[string]any{"csiCinder": map[string]any{"snapshots": map[string]any{"enabled": true}}}}
	}
	p, _ := workload(t, Helm, snapshots)
	text, err := openstackcluster.Render(openstackcluster.Release{Name: release, Namespace: "shop", Values: shop(t, snapshots).Values})
	if err != nil {
		t.Fatal(err)
	}
	want := byName(t, text)
	old := map[string]any{"kubernetesVersion": "1.33.0", "controlPlane": map[string]any{"machineCount": 1}, "tacker": map[string]any{"workers": 7}}
	for name, given := range map[string]map[string]any{"first": nil, "upgraded": old} {
		got := rendered(t, chartOf(t, p), release, given)
		for _, unit := range []string{"control-plane", "group-workers", "group-gpu-large"} {
			pod := "Pod " + unit + "-" + release
			if !strings.Contains(got[pod], "pause") {
				t.Errorf("%s: no %s", name, pod)
			}
			delete(got, pod)
		}
		if !maps.Equal(got, want) {
			for one := range maps.Keys(want) {
				if got[one] != want[one] {
					t.Errorf("%s: %s is\n%s\nwant\n%s", name, one, got[one], want[one])
				}
			}
			t.Errorf("%s: %v, want %v", name, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
	}
}

// TestSpecMistakes: what would put a secret into a package is refused, with everything else
// that is wrong.
func TestSpecMistakes(t *testing.T) {
	t.Parallel()
	none := Spec{Name: "Shop!", Namespace: "a b", Values: map[string]any{"clouds": map[string]any{"openstack": map[string]any{"auth": map[string]any{"password": "hidden"}}},
		"registryAuth": map[string]any{"r": map[string]any{"username": "u", "password": "hidden"}}, "kubernetesVersio": "1"}}
	_, err := Workload(none, Options{Variant: "other"})
	for _, want := range []string{`name: "Shop!"`, "namespace:", "values.clouds: a package must not hold a secret", "values.registryAuth:", "values.cloudCredentialsSecretName: it is missing",
		"values.kubernetesVersion: it is missing", "values.kubernetesVersio: unknown key", "variant:", "types: " + commonTypes, "types: " + vnfdTypes} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %q: %v", want, err)
		}
	}
	if strings.Contains(fmt.Sprint(err), "hidden") {
		t.Errorf("a secret is shown: %v", err)
	}
	for want, edit := range map[string]func(*Spec){
		"scaling.nobody: there is no such node group":                            func(s *Spec) { s.Scaling["nobody"] = Scaling{} },
		"values.nodeGroups[0].machineCount: 3 is not between min 4 and max 10":   func(s *Spec) { s.Scaling["workers"] = Scaling{Min: new(4)} },
		"values.nodeGroups[0].machineCount: 3 is not min 0 and whole steps of 2": func(s *Spec) { s.Scaling["workers"] = Scaling{Min: new(0), Step: new(2)} },
		"scaling.workers.max: 8 is not min 1 and whole steps of 2":               func(s *Spec) { s.Scaling["workers"] = Scaling{Max: new(8), Step: new(2)} },
		"scaling.workers.step: 0 is no step":                                     func(s *Spec) { s.Scaling["workers"] = Scaling{Step: new(0)} },
		"scaling.gpu-large.min: -1 is below 0":                                   func(s *Spec) { s.Scaling["gpu-large"] = Scaling{Min: new(-1)} },
		"scaling.controlPlane: etcd needs an odd number":                         func(s *Spec) { s.Scaling["controlPlane"] = Scaling{Step: new(1)} },
		"values.nodeGroups[0].autoscale: the autoscaler and the VNF manager":     func(s *Spec) { groups(s)[0].(map[string]any)["autoscale"] = true },
		"values: rendering cluster shop":                                         func(s *Spec) { groups(s)[1].(map[string]any)["name"] = "workers"; s.Scaling = nil },
	} {
		if _, err := Workload(shop(t, edit), Options{Variant: Raw, Types: types()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	if _, err := ParseSpec("s.yaml", []byte("nam: x\n")); err == nil || !strings.Contains(err.Error(), "s.yaml") {
		t.Errorf("an unknown key: %v", err)
	}
}

func groups(s *Spec) []any { return s.Values["nodeGroups"].([]any) }

// managementObjects are those of the bundle, or a few if there is none.
func managementObjects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	if dir := os.Getenv("SLIPWAY_BUNDLE"); dir != "" {
		folder, err := bundle.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := clusterctl.Objects(t.Context(), folder)
		if err != nil {
			t.Fatal(err)
		}
		return objects
	}
	text, err := os.ReadFile(filepath.Join("testdata", "management.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := kube.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// TestTerse drops descriptions, and keeps a property of that name.
func TestTerse(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "management.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := kube.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	short, err := yaml.Marshal(terse(objects[1]).Object)
	if err != nil || strings.Contains(string(short), "description: text") || !strings.Contains(string(short), "description:\n            default: has {{ braces }}") {
		t.Errorf("%s %v", short, err)
	}
}

// TestManagementPackage makes packages of both variants twice. What cert-manager has to
// accept is not in the chart.
//
// proves: T-01
func TestManagementPackage(t *testing.T) {
	t.Parallel()
	for _, variant := range []Variant{Helm, Raw} {
		var texts [2][]byte
		var p *Package
		for i := range texts {
			var err error
			if p, err = Management(Spec{Name: "capi-mgmt", Version: "1.0"}, managementObjects(t), Options{Variant: variant, Types: types()}); err != nil {
				t.Fatal(err)
			}
			if texts[i], err = p.Zip(); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(texts[0], texts[1]) {
			t.Errorf("%s: another package the second time", variant)
		}
		layout(t, p, texts[0], append(p.Deploy, "TOSCA-Metadata/TOSCA.meta", "Definitions/capi-mgmt_top.vnfd.yaml", "Scripts/certificates.json", "Scripts/slipway_vnf.py")...)
		set, err := (&Content{Files: p.files}).Settings()
		if err != nil || len(set.Deployments) == 0 {
			t.Errorf("%s waits for %v, %v", variant, set.Deployments, err)
		}
		t.Logf("%s: %d bytes", variant, len(texts[0]))
		if variant == Raw {
			continue
		}
		got := rendered(t, chartOf(t, p), "vnf1", nil)
		now, later := split(managementObjects(t))
		if len(got) != len(now)+1 || got["Pod management-vnf1"] == "" || len(later) == 0 {
			t.Errorf("the chart has %d objects of %d, and %d are for later", len(got), len(now), len(later))
		}
		for _, o := range now { // as it is, but for descriptions in schemas
			want, err := yaml.Marshal(terse(o).Object)
			if err != nil || got[key(o)] != string(want) {
				t.Errorf("%s %s is another one in the chart: %v", o.GetKind(), o.GetName(), err)
			}
		}
		for _, o := range later {
			if got[key(o)] != "" {
				t.Errorf("%s %s is in the chart", o.GetKind(), o.GetName())
			}
		}
	}
	if _, err := Management(shop(t), nil, Options{Variant: Helm, Types: types()}); err == nil || !strings.Contains(err.Error(), "values, scaling and namespace") {
		t.Errorf("with a workload's spec: %v", err)
	}
}
