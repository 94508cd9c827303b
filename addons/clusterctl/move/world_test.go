package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client"
	"sigs.k8s.io/yaml"

	addonsv1alpha1 "github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/addons/clusterctl"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/helm"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// childNamespace makes the test's binary a run that kills itself.
const (
	childNamespace = "MOVE_TEST_NAMESPACE"
	childFolder    = "MOVE_TEST_FOLDER"
	childTo        = "MOVE_TEST_TO"
	childKill      = "MOVE_TEST_KILL"
)

func TestMain(m *testing.M) {
	if os.Getenv(childNamespace) != "" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

// child moves, and is killed before the nth request that writes is sent, or
// after it was answered for an n below zero.
func child() int {
	kill, err := strconv.Atoi(os.Getenv(childKill))
	if err != nil {
		panic(err)
	}
	w := &wire{}
	w.before = func(n int, _ *http.Request) *http.Response {
		if n == kill {
			syscall.Kill(os.Getpid(), syscall.SIGKILL) //nolint:errcheck // it ends here
		}
		return nil
	}
	w.after = func(n int) {
		if n == -kill {
			syscall.Kill(os.Getpid(), syscall.SIGKILL) //nolint:errcheck // it ends here
		}
	}
	m, err := newMove(os.Getenv(childFolder), os.Getenv(childNamespace), w, w)
	if err != nil {
		panic(err)
	}
	if _, err := m.Run(context.Background(), Place(os.Getenv(childTo))); err != nil {
		panic(err)
	}
	fmt.Println(w.n)
	return 0
}

// wire counts the requests that write, and lets a test come between.
type wire struct {
	mu sync.Mutex
	n  int
	// before may answer itself, after is told of what was answered.
	before func(n int, r *http.Request) *http.Response
	after  func(n int)
}

func (w *wire) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return next.RoundTrip(r)
		}
		w.mu.Lock()
		w.n++
		n := w.n
		w.mu.Unlock()
		if w.before != nil {
			if response := w.before(n, r); response != nil {
				return response, nil
			}
		}
		response, err := next.RoundTrip(r)
		if w.after != nil {
			w.after(n)
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer is one of a server.
func answer(r *http.Request, code int, body string) *http.Response {
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}
}

func sideOf(name, folder string, w *wire) (Side, error) {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(folder, name))
	if err != nil {
		return Side{}, err
	}
	if w != nil {
		config.Wrap(w.wrap)
	}
	c, err := kube.New(config)
	return Side{Name: name, Kube: c, Config: config}, err
}

// newMove is the move of Cluster c in a namespace; the wires may be nil.
func newMove(folder, namespace string, seed, management *wire) (Move, error) {
	m := Move{Cluster: types.NamespacedName{Namespace: namespace, Name: "c"}, Kubeconfig: "leads to management", Progress: func(string) {}}
	var err, other error
	m.Seed, err = sideOf("seed", folder, seed)
	m.Management, other = sideOf("management", folder, management)
	return m, errors.Join(err, other)
}

// pair are two API servers with the definitions of the bundle's providers.
type pair struct{ folder string }

func newPair(t *testing.T) pair {
	t.Helper()
	p := pair{t.TempDir()}
	servers := map[string]*kubetest.Server{}
	for _, name := range []string{"seed", "management"} { // first: without a bundle the test is skipped here
		servers[name] = kubetest.Start(t)
	}
	definitions := providerDefinitions(t)
	for name, server := range servers {
		if err := os.WriteFile(filepath.Join(p.folder, name), server.Kubeconfig, 0o600); err != nil {
			t.Fatal(err)
		}
		server.Serve(t, definitions...)
	}
	return p
}

// providerDefinitions are those that clusterctl installs, and the addon
// provider's, without schemas and conversions: no controller is there to default
// and convert.
func providerDefinitions(t *testing.T) (list [][]byte) {
	t.Helper()
	folder, err := bundle.Open(os.Getenv("SLIPWAY_BUNDLE"))
	if err != nil {
		t.Fatal(err)
	}
	library, err := clusterctl.New(t.Context(), folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, provider := range component.Providers(component.VersionsIn(folder.Bill())) {
		components, err := library.GetProviderComponents(t.Context(), provider.Name, v1alpha3.ProviderType(provider.Type), client.ComponentsOptions{Version: provider.Version})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range components.Objs() {
			if o.GetKind() == "CustomResourceDefinition" {
				list = append(list, bare(t, &o))
			}
		}
	}
	for _, text := range addonsv1alpha1.Definitions() {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &o.Object); err != nil {
			t.Fatal(err)
		}
		list = append(list, bare(t, o))
	}
	return list
}

func bare(t *testing.T, definition *unstructured.Unstructured) []byte {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": definition.GetAPIVersion(), "kind": definition.GetKind(), "spec": definition.Object["spec"]}}
	o.SetName(definition.GetName())
	o.SetLabels(definition.GetLabels())
	unstructured.RemoveNestedField(o.Object, "spec", "conversion")
	versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
	for _, v := range versions {
		version := v.(map[string]any)
		version["schema"] = map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
		version["subresources"] = map[string]any{"status": map[string]any{}}
		delete(version, "additionalPrinterColumns")
		delete(version, "selectableFields")
	}
	if err := unstructured.SetNestedSlice(o.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The kinds of the test's cluster.
const (
	core     = "cluster.x-k8s.io/v1beta2"
	plane    = "controlplane.cluster.x-k8s.io/v1beta2"
	kubeadm  = "bootstrap.cluster.x-k8s.io/v1beta2"
	infra    = "infrastructure.cluster.x-k8s.io/v1beta1"
	addonAPI = "addons.stackhpc.com/v1alpha1"
)

// made is an object to make, owned by those of the names.
type made struct {
	version, kind, name string
	owners              []string
	spec, status        map[string]any
	labels              map[string]string
	finalizers          []string
}

// cluster is what a cluster with two machines is made of.
func clusterObjects() []made {
	hold := []string{"slipway.sh/test"} // no controller ever takes it away
	list := []made{
		{version: core, kind: "Cluster", name: "c", finalizers: hold, spec: map[string]any{"controlPlaneRef": map[string]any{"kind": "KubeadmControlPlane", "name": "cp", "apiGroup": "controlplane.cluster.x-k8s.io"}},
			status: map[string]any{"initialization": map[string]any{"infrastructureProvisioned": true, "controlPlaneInitialized": true}, "conditions": []any{map[string]any{
				"type": "ControlPlaneInitialized", "status": "True", "reason": "x", "lastTransitionTime": "2026-01-01T00:00:00Z"}}}},
		{version: infra, kind: "OpenStackCluster", name: "c", owners: []string{"c"}, finalizers: hold, spec: map[string]any{"identityRef": map[string]any{"name": "cloud"}}},
		{version: plane, kind: "KubeadmControlPlane", name: "cp", owners: []string{"c"}, finalizers: hold, spec: map[string]any{"replicas": int64(1)}},
		{version: infra, kind: "OpenStackMachineTemplate", name: "template", owners: []string{"c"}},
		{version: core, kind: "MachineDeployment", name: "md", owners: []string{"c"}, finalizers: hold, spec: map[string]any{"clusterName": "c", "replicas": int64(1)}},
		{version: core, kind: "MachineSet", name: "ms", owners: []string{"md"}, finalizers: hold, spec: map[string]any{"clusterName": "c"}},
		{version: addonAPI, kind: "HelmRelease", name: "cni", owners: []string{"c"}, finalizers: []string{addonsv1alpha1.Finalizer}, spec: map[string]any{"clusterName": "c"}},
	}
	for name, owner := range map[string]string{"cp-1": "cp", "md-1": "ms"} {
		list = append(list,
			made{version: core, kind: "Machine", name: name, owners: []string{owner}, finalizers: hold, labels: map[string]string{"cluster.x-k8s.io/cluster-name": "c"},
				spec: map[string]any{"clusterName": "c", "providerID": "openstack:///" + name}, status: map[string]any{"nodeRef": map[string]any{"name": name}}},
			made{version: infra, kind: "OpenStackMachine", name: "server-" + name, owners: []string{name}, finalizers: hold, spec: map[string]any{"providerID": "openstack:///" + name}},
			made{version: kubeadm, kind: "KubeadmConfig", name: "config-" + name, owners: []string{name}})
	}
	return list
}

// namespace makes a cluster on a side, with its Secrets and its Helm release,
// in a namespace of its own.
func (p pair) namespace(t *testing.T, name string) string {
	t.Helper()
	side, err := sideOf("seed", p.folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = side.Kube.Typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	check(err)
	known := map[string]metav1.OwnerReference{}
	for _, o := range clusterObjects() {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": o.version, "kind": o.kind, "spec": o.spec}}
		u.SetName(o.name)
		u.SetNamespace(name)
		u.SetLabels(o.labels)
		u.SetFinalizers(o.finalizers)
		for _, owner := range o.owners {
			u.SetOwnerReferences(append(u.GetOwnerReferences(), known[owner]))
		}
		resource, err := side.Kube.Resource(u)
		check(err)
		created, err := resource.Create(ctx, u, metav1.CreateOptions{})
		check(err)
		if _, taken := known[o.name]; !taken {
			known[o.name] = metav1.OwnerReference{APIVersion: o.version, Kind: o.kind, Name: o.name, UID: created.GetUID()}
		}
	}
	check(control(ctx, side, name))
	for secret, owner := range map[string]string{"c-ca": "cp", "c-kubeconfig": "cp", "c-etcd": "", "bootstrap": "config-md-1", "beside": ""} {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: secret}, StringData: map[string]string{"value": secret}}
		if owner != "" {
			s.OwnerReferences = []metav1.OwnerReference{known[owner]}
		}
		_, err := side.Kube.Typed.CoreV1().Secrets(name).Create(ctx, s, metav1.CreateOptions{})
		check(err)
	}
	releases, err := helm.New(side.Config, name, slog.New(slog.DiscardHandler))
	check(err)
	_, _, err = releases.Ensure(ctx, testRelease())
	check(err)
	return name
}

// control writes what controllers write about a cluster that is well: a move
// takes no status along, and needs it.
func control(ctx context.Context, s Side, namespace string) error {
	for _, o := range clusterObjects() {
		if o.status == nil {
			continue
		}
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": o.version, "kind": o.kind}}
		u.SetNamespace(namespace)
		resource, err := s.Kube.Resource(u)
		if err != nil {
			return err
		}
		text, err := json.Marshal(map[string]any{"status": o.status})
		if err == nil {
			_, err = resource.Patch(ctx, o.name, types.MergePatchType, text, metav1.PatchOptions{}, "status")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// testRelease makes a Secret that is labelled to move, and what clusterctl does
// not know.
func testRelease() helm.Wanted {
	return helm.Wanted{Name: "c", Chart: &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "test", Version: "1.0.0"}, Templates: []*chart.File{
		{Name: "templates/a.yaml", Data: []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: cloud, labels: {clusterctl.cluster.x-k8s.io/move: \"true\"}}\nstringData: {a: b}\n")},
		{Name: "templates/b.yaml", Data: []byte("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: autoscaler}\n")},
	}}}
}

// patch changes the Cluster on a side.
func (w *world) patch(s Side, text string) {
	w.t.Helper()
	if _, err := s.Kube.Dynamic.Resource(clusterKind()).Namespace(w.Cluster.Namespace).Patch(w.t.Context(), "c", types.MergePatchType, []byte(text), metav1.PatchOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// make makes another Cluster on a side.
func (w *world) make(s Side, name string) {
	w.t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": core, "kind": "Cluster", "metadata": map[string]any{"name": name}, "spec": map[string]any{}}}
	if _, err := s.Kube.Dynamic.Resource(clusterKind()).Namespace(w.Cluster.Namespace).Create(w.t.Context(), o, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func kubeNamespace(w *world, s Side) error {
	_, err := s.Kube.Typed.CoreV1().Namespaces().Create(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Cluster.Namespace}}, metav1.CreateOptions{})
	return err
}
