package adopt

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	bootstrapold "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta1"
	bootstrap "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	planeold "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta1"
	plane "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	coreold "sigs.k8s.io/cluster-api/api/core/v1beta1"
	core "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/conversion"

	"github.com/slipway-sh/slipway/internal/helm"
)

// pair are the types of a kind: what is stored, and the older version.
type pair struct {
	hub func() conversion.Hub
	old func() conversion.Convertible
}

// pairs are the kinds that Cluster API converts; its own code does it here too.
func pairs() map[string]pair {
	return map[string]pair{
		"Cluster":               {func() conversion.Hub { return &core.Cluster{} }, func() conversion.Convertible { return &coreold.Cluster{} }},
		"MachineDeployment":     {func() conversion.Hub { return &core.MachineDeployment{} }, func() conversion.Convertible { return &coreold.MachineDeployment{} }},
		"MachineHealthCheck":    {func() conversion.Hub { return &core.MachineHealthCheck{} }, func() conversion.Convertible { return &coreold.MachineHealthCheck{} }},
		"KubeadmControlPlane":   {func() conversion.Hub { return &plane.KubeadmControlPlane{} }, func() conversion.Convertible { return &planeold.KubeadmControlPlane{} }},
		"KubeadmConfigTemplate": {func() conversion.Hub { return &bootstrap.KubeadmConfigTemplate{} }, func() conversion.Convertible { return &bootstrapold.KubeadmConfigTemplate{} }},
	}
}

// registered says once which version of a kind references get; Cluster API keeps it in a
// variable.
var registered = sync.OnceFunc(func() {
	version := func(kind schema.GroupKind) (string, error) { return kind.Group + "/v1beta1", nil }
	coreold.SetAPIVersionGetter(version)
	planeold.SetAPIVersionGetter(version)
})

// server is an API server with the versions of Cluster API.
type server struct{ client.Client }

// Get converts what is asked for in the older version.
func (s server) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return s.Client.Get(ctx, key, o, options...)
	}
	if kind := u.GroupVersionKind(); kind.Version == "v1alpha7" { // CAPO converts; what is read is not looked at closely
		u.SetGroupVersionKind(cloudKind.WithKind(kind.Kind))
		return s.Client.Get(ctx, key, u, options...)
	}
	two, known := pairs()[u.GetKind()]
	if !known || u.GroupVersionKind().Version != "v1beta1" {
		return s.Client.Get(ctx, key, o, options...)
	}
	stored := &unstructured.Unstructured{}
	kind := u.GroupVersionKind()
	stored.SetGroupVersionKind(kind.GroupKind().WithVersion("v1beta2"))
	if err := s.Client.Get(ctx, key, stored, options...); err != nil {
		return err
	}
	hub, old := two.hub(), two.old()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, hub); err != nil {
		return err
	}
	if err := old.ConvertFrom(hub); err != nil {
		return err
	}
	content, err := jsonOf(old)
	u.Object = content
	u.SetGroupVersionKind(kind)
	return err
}

func jsonOf(o any) (map[string]any, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	var content map[string]any
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, err
	}
	u.Object = content
	delete(content, "status")
	return integers(content).(map[string]any), nil
}

// integers makes whole numbers integers, as unstructured objects have them.
func integers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, one := range v {
			v[key] = integers(one)
		}
	case []any:
		for i, one := range v {
			v[i] = integers(one)
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return value
}

// world is a management cluster in memory.
type world struct {
	t        *testing.T
	site     Site
	releases *memory
}

// memory are releases.
type memory struct {
	last     map[string]*helmrelease.Release
	before   map[string]*helmrelease.Release
	taken    []helm.Takeover
	settled  int
	takeover error
}

func (m *memory) Last(namespace, name string) (*helmrelease.Release, error) {
	return m.last[namespace+"/"+name], nil
}

func (m *memory) TakeOver(last *helmrelease.Release, t helm.Takeover) error {
	if m.takeover != nil {
		return m.takeover
	}
	m.taken = append(m.taken, t)
	m.before[last.Namespace+"/"+last.Name] = last
	m.last[last.Namespace+"/"+last.Name] = &helmrelease.Release{Name: last.Name, Namespace: last.Namespace, Version: last.Version + 1, Chart: t.Chart, Config: t.Values,
		Manifest: t.Manifest, Labels: t.Labels, Info: &helmrelease.Info{Status: helmrelease.StatusDeployed, Description: t.Description}}
	return nil
}

func (m *memory) GiveBack(r *helmrelease.Release) error {
	key := r.Namespace + "/" + r.Name
	m.last[key] = m.before[key]
	return nil
}

func (m *memory) Settle(*helmrelease.Release) error { m.settled++; return nil }

func newWorld(t *testing.T) *world {
	t.Helper()
	registered()
	scheme := runtime.NewScheme()
	must(t, clientgoscheme.AddToScheme(scheme))
	for _, gvk := range []schema.GroupVersionKind{{Group: "azimuth.stackhpc.com", Version: "v1alpha1", Kind: "Cluster"}, {Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}} {
		scheme.AddKnownTypeWithName(gvk, &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(gvk.GroupVersion().WithKind(gvk.Kind+"List"), &unstructured.UnstructuredList{})
	}
	w := &world{t: t, releases: &memory{last: map[string]*helmrelease.Release{}, before: map[string]*helmrelease.Release{}}}
	w.site = Site{Client: server{fake.NewClientBuilder().WithScheme(scheme).Build()}, Releases: w.releases}
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// render is what Helm's command would install.
func render(t *testing.T, c *chart.Chart, name, namespace string, values map[string]any) string {
	t.Helper()
	values = copied(values)
	must(t, chartutil.ProcessDependenciesWithMerge(c, values))
	ready, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: name, Namespace: namespace, Revision: 1, IsInstall: true}, chartutil.DefaultCapabilities)
	must(t, err)
	files, err := engine.Render(c, ready)
	must(t, err)
	maps.DeleteFunc(files, func(name, _ string) bool { return name[len(name)-5:] != ".yaml" })
	_, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	must(t, err)
	text := ""
	for _, m := range manifests {
		text += "---\n" + m.Content + "\n"
	}
	return text
}

// install makes a release and what the API server, and Cluster API, have of it.
func (w *world) install(namespace, name string, from *chart.Chart, values map[string]any) {
	w.t.Helper()
	manifest := render(w.t, from, name, namespace, values)
	bare := &chart.Chart{Metadata: from.Metadata, Templates: from.Templates, Values: from.Values} // Helm keeps no chart inside
	w.releases.last[namespace+"/"+name] = &helmrelease.Release{Name: name, Namespace: namespace, Version: 1, Chart: bare, Config: copied(values), Manifest: manifest,
		Info: &helmrelease.Info{Status: helmrelease.StatusDeployed}}
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sh.helm.release.v1." + name + ".v1", Labels: map[string]string{"owner": "helm", "name": name}}})
	all, err := documents(manifest)
	must(w.t, err)
	for _, o := range all {
		o.SetNamespace(namespace)
		w.store(o)
	}
	w.secrets(namespace, name)
	w.machines(namespace, name)
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	must(w.t, w.site.Client.Create(w.t.Context(), o))
}

// store converts an object to what is stored.
func (w *world) store(o *unstructured.Unstructured) {
	w.t.Helper()
	two, known := pairs()[o.GetKind()]
	if o.GroupVersionKind().Version == "v1alpha7" {
		o.SetGroupVersionKind(cloudKind.WithKind(o.GetKind()))
	}
	if o.GetKind() == "Secret" {
		o.Object["data"] = plain(o.Object)
		delete(o.Object, "stringData")
	}
	if known && o.GroupVersionKind().Version == "v1beta1" {
		hub, old := two.hub(), two.old()
		must(w.t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, old))
		must(w.t, old.ConvertTo(hub))
		content, err := jsonOf(hub)
		must(w.t, err)
		kind := o.GroupVersionKind()
		o = &unstructured.Unstructured{Object: content}
		o.SetGroupVersionKind(kind.GroupKind().WithVersion("v1beta2"))
	}
	w.create(o)
}

func (w *world) secrets(namespace, name string) {
	w.t.Helper()
	for _, suffix := range []string{"ca", "etcd", "proxy", "sa", "kubeconfig"} {
		w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-" + suffix}})
	}
}

func (w *world) machines(namespace, name string) {
	w.t.Helper()
	for _, o := range slices.Concat(w.list(planeKind.WithKind("KubeadmControlPlane"), namespace), w.list(clusterKind.WithKind("MachineDeployment"), namespace)) {
		for i := range replicas(&o) {
			if !strings.HasPrefix(o.GetName(), name+"-") {
				continue
			}
			m := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"clusterName": name}}}
			m.SetGroupVersionKind(clusterKind.WithKind("Machine"))
			m.SetNamespace(namespace)
			m.SetName(fmt.Sprintf("%s-%d", o.GetName(), i))
			w.create(m)
		}
	}
}

func (w *world) list(kind schema.GroupVersionKind, namespace string) []unstructured.Unstructured {
	w.t.Helper()
	list := &unstructured.UnstructuredList{}
	kind.Kind += "List"
	list.SetGroupVersionKind(kind)
	must(w.t, w.site.Client.List(w.t.Context(), list, client.InNamespace(namespace)))
	return list.Items
}

func (w *world) plan(name, namespace string) *Plan {
	w.t.Helper()
	p, err := New(w.t.Context(), w.site, name, namespace)
	must(w.t, err)
	return p
}
