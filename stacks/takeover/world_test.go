package takeover

import (
	"encoding/json"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/internal/kube/apitest"
	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

const image = "registry.example/slipway:v9"

// world is a cluster of an environment that azimuth-ops made, in memory.
type world struct {
	*testing.T
	server *apitest.Server
	site   Site
}

// bare is a cluster with Cluster API, and without operators.
func bare(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, server: apitest.Start(t)}
	for _, kind := range machinery() {
		w.server.Define(kind.GroupVersion().String(), kind.Kind)
	}
	w.open(Management)
	return w
}

// azimuth is a management cluster with the operators, by their charts, and a cluster with an addon.
func azimuth(t *testing.T) *world {
	t.Helper()
	w := bare(t)
	for _, text := range v1alpha1.Definitions() {
		w.server.Put(string(text))
	}
	w.edit("customresourcedefinitions manifests.addons.stackhpc.com", "one", "spec", "names", "singular") // not quite Slipway's
	w.install(w.chart(controllers.AddonProviderName), map[string]any{"trustBundle": "-----BEGIN CERTIFICATE-----\n", "config": map[string]any{"helmClient": map[string]any{"defaultTimeout": "5m"}}})
	w.install(w.chart(controllers.JanitorName), map[string]any{"defaultVolumesPolicy": "keep"})
	w.put("Cluster", "cluster.x-k8s.io/v1beta2", "default", "prod", `{spec: {paused: false}}`)
	w.put("Machine", "cluster.x-k8s.io/v1beta2", "default", "prod-0", `{spec: {clusterName: prod}}`)
	w.put("HelmRelease", "addons.stackhpc.com/v1alpha1", "default", "prod-cni",
		`{spec: {clusterName: prod, targetNamespace: kube-system, chart: {repo: "https://charts.example", name: cni, version: 1.2.3}}, status: {phase: Deployed}}`)
	w.put("Manifests", "addons.stackhpc.com/v1alpha1", "default", "prod-config",
		`{spec: {clusterName: prod, targetNamespace: kube-system, manifestSources: [{template: "a: b"}]}, status: {phase: Deployed}}`)
	w.put("Deployment", "apps/v1", "capo-system", "capo-controller-manager", `{spec: {template: {spec: {containers: [{name: a, image: "registry.k8s.io/capo:v0.14.7@sha256:00"}]}}}}`)
	return w
}

func (w *world) config() *rest.Config {
	w.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(w.server.Kubeconfig()))
	w.must(err)
	return config
}

func (w *world) open(role Role) {
	w.Helper()
	var err error
	w.site, err = Open(role, w.config())
	w.must(err)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// put writes an object; text has what it is besides its name.
func (w *world) put(kind, version, namespace, name, text string) {
	w.Helper()
	o := map[string]any{}
	w.must(yaml.Unmarshal([]byte(text), &o))
	metadata, _ := o["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["name"], metadata["namespace"] = name, namespace
	maps.Copy(o, map[string]any{"kind": kind, "apiVersion": version, "metadata": metadata})
	all, err := json.Marshal(o)
	w.must(err)
	w.server.Put(string(all))
}

// edit changes an object by hand.
func (w *world) edit(path string, value any, fields ...string) {
	w.Helper()
	o := w.get(path)
	w.must(unstructured.SetNestedField(o.Object, value, fields...))
	text, err := json.Marshal(o.Object)
	w.must(err)
	w.server.Put(string(text))
}

func (w *world) get(path string) *unstructured.Unstructured {
	w.Helper()
	o := w.server.Get(path)
	if o == nil {
		w.Fatalf("no %s", path)
	}
	return o
}

// chart makes objects as that of one of Azimuth's operators.
func (w *world) chart(name string) *chart.Chart {
	w.Helper()
	c, err := loader.Load(filepath.Join("..", "..", "test", "adopting", "testdata", "operators", name))
	w.must(err)
	return c
}

func home(name string) string {
	return map[string]string{controllers.AddonProviderName: controllers.AddonProviderNamespace, controllers.JanitorName: controllers.JanitorNamespace}[name]
}

// install makes a release as Helm does, with its objects.
func (w *world) install(from *chart.Chart, values map[string]any) *helmrelease.Release {
	w.Helper()
	name, namespace := from.Name(), home(from.Name())
	rendering, err := chartutil.ToRenderValues(from, values, chartutil.ReleaseOptions{Name: name, Namespace: namespace, Revision: 1, IsInstall: true}, chartutil.DefaultCapabilities)
	w.must(err)
	rendered, err := engine.Render(from, rendering)
	w.must(err)
	manifest := ""
	for _, file := range slices.Sorted(maps.Keys(rendered)) {
		if strings.HasSuffix(file, ".yaml") {
			manifest += "---\n" + rendered[file] + "\n"
		}
	}
	w.server.Put("{apiVersion: v1, kind: Namespace, metadata: {name: " + namespace + "}}")
	all, err := adopt.Documents(manifest)
	w.must(err)
	for _, o := range all {
		if !strings.HasPrefix(o.GetKind(), "Cluster") {
			o.SetNamespace(namespace)
		}
		o.SetAnnotations(map[string]string{"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": namespace})
		text, err := json.Marshal(o.Object)
		w.must(err)
		w.server.Put(string(text))
	}
	r := &helmrelease.Release{Name: name, Namespace: namespace, Version: 1, Chart: from, Config: values, Manifest: manifest, Info: &helmrelease.Info{Status: helmrelease.StatusDeployed}}
	w.must(w.records(namespace).Create("sh.helm.release.v1."+name+".v1", r))
	return r
}

func (w *world) records(namespace string) *driver.Secrets {
	return driver.NewSecrets(w.site.Kube.Typed.CoreV1().Secrets(namespace))
}

// rerecord writes a revision of a release again, changed.
func (w *world) rerecord(name string, change func(*helmrelease.Release)) {
	w.Helper()
	records, key := w.records(home(name)), "sh.helm.release.v1."+name+".v1"
	r, err := records.Get(key)
	w.must(err)
	change(r)
	w.must(records.Update(key, r))
}

// look is the plan.
func (w *world) look(o Options) *Plan {
	w.Helper()
	before := len(w.server.Changes())
	p, err := Look(w.Context(), []Site{w.site}, o)
	w.must(err)
	for _, change := range w.server.Changes()[before:] {
		if !strings.HasPrefix(change, "POST selfsubjectaccessreviews") {
			w.Errorf("a plan wrote: %s", change)
		}
	}
	return p
}

func silent(string) {}

// kinds are those that a takeover changes objects of.
const kinds = "secrets serviceaccounts configmaps services namespaces deployments poddisruptionbudgets clusterroles clusterrolebindings roles rolebindings customresourcedefinitions " +
	"clusters machines helmreleases manifests"

// generations are those of Cluster API's objects.
func (w *world) generations() map[string]int64 {
	w.Helper()
	all := map[string]int64{}
	for _, path := range w.server.Paths() {
		if strings.HasPrefix(path, "clusters ") || strings.HasPrefix(path, "machines ") {
			all[path] = w.get(path).GetGeneration()
		}
	}
	return all
}

// everything is what there is, by kind and name, without what an API server writes.
func (w *world) everything() map[string]any {
	w.Helper()
	all := map[string]any{}
	for _, path := range w.server.Paths() {
		if kind, _, _ := strings.Cut(path, " "); !slices.Contains(strings.Fields(kinds), kind) {
			continue
		}
		o := w.get(path)
		labels := o.GetLabels()
		delete(labels, "modifiedAt") // Helm's, of a record
		plain := maps.Clone(o.Object)
		delete(plain, "status")
		annotations := o.GetAnnotations()
		plain["metadata"] = map[string]any{"labels": labels, "annotations": annotations}
		text, err := json.Marshal(plain)
		w.must(err)
		all[path] = string(text)
	}
	return all
}

// writes reports whether a request changes something.
func writes(r *http.Request) bool {
	return r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "selfsubjectaccessreviews")
}
