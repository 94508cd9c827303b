package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/helm"
)

const (
	stack     = "shop-k3v9x2m4q7zd"
	namespace = "magnum-p1"
)

// harness is a management cluster without anybody but the reconciler; the test
// moves what Cluster API would.
type harness struct {
	t        *testing.T
	client   client.Client
	r        *reconciler
	releases *fakeReleases
	revoker  *fakeRevoker
	events   *record.FakeRecorder
	clock    time.Time
}

// fakeReleases makes of values what the chart would.
type fakeReleases struct {
	mu      sync.Mutex
	client  client.Client
	last    *helmrelease.Release
	err     error
	ensured int
	before  func()
	// failed says that the last change did not come to its end: the same again is one.
	failed bool
}

func (f *fakeReleases) Last(context.Context, string, string) (*helmrelease.Release, error) {
	return f.last, nil
}

func plain(values map[string]any) map[string]any {
	text, _ := json.Marshal(values)
	var all map[string]any
	_ = json.Unmarshal(text, &all)
	return all
}

func (f *fakeReleases) Ensure(ctx context.Context, ns string, w helm.Wanted) (*helmrelease.Release, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ensured++
	if f.before != nil {
		f.before()
	}
	unsettled := f.failed
	if f.failed = f.err != nil; f.failed {
		return nil, false, f.err
	}
	values := plain(w.Values)
	if f.last != nil && !unsettled && reflect.DeepEqual(f.last.Config, values) && chartName(f.last.Chart) == chartName(w.Chart) {
		return f.last, false, nil
	}
	revision := 1
	if f.last != nil {
		revision = f.last.Version + 1
	}
	f.last = &helmrelease.Release{Name: w.Name, Version: revision, Chart: w.Chart, Config: values, Info: &helmrelease.Info{Status: helmrelease.StatusDeployed}}
	return f.last, true, f.apply(ctx, ns, values)
}

// apply writes Cluster, control plane and MachineDeployments; generations
// change with specs, as on an API server.
func (f *fakeReleases) apply(ctx context.Context, ns string, values map[string]any) error {
	version := values["kubernetesVersion"].(string)
	plane := values["controlPlane"].(map[string]any)
	objects := []*unstructured.Unstructured{
		made(capiCluster(), ns, stack, map[string]any{}),
		made(infrastructure(), ns, stack, map[string]any{}),
		made(controlPlane(), ns, stack+"-control-plane", map[string]any{"replicas": int64(plane["machineCount"].(float64)), "version": "v" + version}),
	}
	wanted := map[string]bool{}
	for _, entry := range values["nodeGroups"].([]any) {
		g := entry.(map[string]any)
		name := g["name"].(string)
		wanted[stack+"-"+name] = true
		own, image := version, values["machineImageId"]
		if v, ok := g["kubernetesVersion"].(string); ok {
			own = v
		}
		if i, ok := g["machineImageId"]; ok {
			image = i
		}
		spec := map[string]any{"clusterName": stack, "image": image, "template": map[string]any{"spec": map[string]any{"version": "v" + own}}}
		if count, ok := g["machineCount"].(float64); ok {
			spec["replicas"] = int64(count)
		}
		o := made(deployment(), ns, stack+"-"+name, spec)
		o.SetLabels(map[string]string{observe.LabelStack: stack, observe.LabelGroup: name})
		objects = append(objects, o)
	}
	list := deployment().list()
	if err := f.client.List(ctx, list, client.InNamespace(ns)); err != nil {
		return err
	}
	for i := range list.Items {
		if !wanted[list.Items[i].GetName()] {
			if err := f.client.Delete(ctx, &list.Items[i]); err != nil {
				return err
			}
		}
	}
	for _, o := range objects {
		if err := f.put(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func made(k kind, ns, name string, spec map[string]any) *unstructured.Unstructured {
	o := k.object()
	o.SetNamespace(ns)
	o.SetName(name)
	o.SetLabels(map[string]string{observe.LabelStack: stack, v1alpha1.LabelStack: stack})
	o.Object["spec"] = spec
	return o
}

func (f *fakeReleases) put(ctx context.Context, o *unstructured.Unstructured) error {
	k := kind{o.GroupVersionKind().Group, o.GroupVersionKind().Version, o.GetKind()}
	there, err := get(ctx, f.client, k, o.GetNamespace(), o.GetName())
	if err != nil {
		return err
	}
	if there == nil {
		o.SetGeneration(1)
		return f.client.Create(ctx, o)
	}
	spec := o.Object["spec"].(map[string]any)
	old, _ := there.Object["spec"].(map[string]any)
	if _, sized := spec["replicas"]; !sized && old["replicas"] != nil {
		spec["replicas"] = old["replicas"]
	}
	if reflect.DeepEqual(old, spec) {
		return nil
	}
	there.Object["spec"] = spec
	there.SetGeneration(there.GetGeneration() + 1)
	return f.client.Update(ctx, there)
}

func (f *fakeReleases) Uninstall(ctx context.Context, ns, _ string) error {
	if f.err != nil {
		return f.err
	}
	f.last = nil
	for _, k := range []kind{deployment(), capiCluster()} {
		if err := f.client.DeleteAllOf(ctx, k.object(), client.InNamespace(ns)); err != nil {
			return err
		}
	}
	return nil
}

type fakeRevoker struct {
	revoked []string
	err     error
}

func (f *fakeRevoker) Revoke(_ context.Context, user, id string) error {
	if f.err == nil {
		f.revoked = append(f.revoked, user+"/"+id)
	}
	return f.err
}

type noResolver struct{}

func (noResolver) Resolve(context.Context, *corev1.Secret, Names) (*v1alpha1.ResolvedNames, map[string]v1alpha1.ResolvedImage, error) {
	return nil, nil, fmt.Errorf("the cloud is not there")
}

func testChart(version string) *chart.Chart {
	return &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "openstack-cluster", Version: version}}
}

// start has a cluster, its template and its Secret; functions change them first.
func start(t *testing.T, change ...func(*v1alpha1.Cluster)) *harness {
	t.Helper()
	h := &harness{t: t, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), revoker: &fakeRevoker{}, events: record.NewFakeRecorder(100)}
	s, err := scheme()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range append(watched(), leftBehind()...) {
		s.AddKnownTypeWithName(k.gvk(), &unstructured.Unstructured{})
		s.AddKnownTypeWithName(k.list().GroupVersionKind(), &unstructured.UnstructuredList{})
	}
	b := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		o.SetGeneration(max(1, o.GetGeneration())) // as an API server does
		return c.Create(ctx, o, opts...)
	}}).WithScheme(s).WithStatusSubresource(&v1alpha1.Cluster{}, &v1alpha1.NodeGroup{})
	for _, i := range indexes() {
		b = b.WithIndex(i.object, i.name, i.values)
	}
	h.client = b.Build()
	h.releases = &fakeReleases{client: h.client}
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: stack, Namespace: namespace, Generation: 1, UID: "u1",
		CreationTimestamp: metav1.Time{Time: h.clock}, Finalizers: []string{v1alpha1.FinalizerCluster}}}
	c.Spec.UUID, c.Spec.Name, c.Spec.ProjectID, c.Spec.UserID = "6c9f3a52-5c0e-4b9f-9a5c-1b1f4f6a2f10", "shop", "p1", "user"
	c.Spec.TemplateRef.Name, c.Spec.MasterCount = "t34", 1
	c.Spec.Resolved = resolved("image-34", "1.34.2")
	c.Spec.Credential = v1alpha1.Credential{ApplicationCredentialID: "cred-1", UserID: "user"}
	for _, f := range change {
		f(c)
	}
	h.create(template("t34"), template("t35"), c, secret("cred-1"))
	h.restart()
	return h
}

func resolved(image, version string) *v1alpha1.ResolvedNames {
	return &v1alpha1.ResolvedNames{Image: v1alpha1.ResolvedImage{ID: image, OSDistro: "ubuntu", KubernetesVersion: version}, VolumeTypes: []string{"ssd"}}
}

func template(name string) *v1alpha1.ClusterTemplate {
	t := &v1alpha1.ClusterTemplate{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: "uid-" + "t"}}
	t.Spec.UUID, t.Spec.ProjectID = "00000000-0000-0000-0000-0000000000"+name[1:], "p1"
	t.Spec.TemplateValues = v1alpha1.TemplateValues{COE: "kubernetes", ImageID: "image-of-" + name, FlavorID: "m1", MasterFlavorID: "m1",
		NetworkDriver: "calico", MasterLBEnabled: true, FloatingIPEnabled: true}
	return t
}

func secret(credential string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: stack + "-cloud-credentials", Namespace: namespace,
		Labels: map[string]string{v1alpha1.LabelCluster: "6c9f3a52-5c0e-4b9f-9a5c-1b1f4f6a2f10"}},
		Data: map[string][]byte{"clouds.yaml": []byte("clouds: {openstack: {auth: {auth_url: https://k/v3, application_credential_id: " + credential + "}}}")}}
}

// restart is a new process of the controllers on the same cluster.
func (h *harness) restart() {
	h.r = newReconciler(h.client, h.client, Options{Chart: func() (*chart.Chart, error) { return testChart("1.0.0"), nil },
		Resolver: noResolver{}, Revoker: h.revoker, Releases: h.releases, Now: func() time.Time { return h.clock }}.defaults())
	h.r.events = h.events
}

func (h *harness) create(objects ...client.Object) {
	h.t.Helper()
	for _, o := range objects {
		if err := h.client.Create(h.t.Context(), o); err != nil {
			h.t.Fatal(err)
		}
	}
}

func (h *harness) reconcile() (reconcile.Result, error) {
	return h.r.Reconcile(h.t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: stack}})
}

// pass reconciles, which must not fail.
func (h *harness) pass() reconcile.Result {
	h.t.Helper()
	result, err := h.reconcile()
	if err != nil {
		h.t.Fatal(err)
	}
	return result
}

func (h *harness) cluster() *v1alpha1.Cluster {
	h.t.Helper()
	c := &v1alpha1.Cluster{}
	if err := h.client.Get(h.t.Context(), client.ObjectKey{Namespace: namespace, Name: stack}, c); err != nil {
		h.t.Fatal(err)
	}
	return c
}

func (h *harness) group(name string) *v1alpha1.NodeGroup {
	h.t.Helper()
	g := &v1alpha1.NodeGroup{}
	if err := h.client.Get(h.t.Context(), client.ObjectKey{Namespace: namespace, Name: stack + "-" + name}, g); err != nil {
		h.t.Fatal(err)
	}
	return g
}

// edit changes the cluster's spec, editGroup a group's, as a user does.
func (h *harness) edit(change func(*v1alpha1.Cluster)) {
	h.t.Helper()
	c := h.cluster()
	change(c)
	c.Generation++
	if err := h.client.Update(h.t.Context(), c); err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) editGroup(name string, change func(*v1alpha1.NodeGroup)) {
	h.t.Helper()
	g := h.group(name)
	change(g)
	g.Generation++
	if err := h.client.Update(h.t.Context(), g); err != nil {
		h.t.Fatal(err)
	}
}

// phases compares cluster and groups: phases("CREATE_COMPLETE", "default-master", "CREATE_COMPLETE").
func (h *harness) phases(cluster v1alpha1.Phase, groups ...string) {
	h.t.Helper()
	c := h.cluster()
	if c.Status.Phase != cluster {
		h.t.Errorf("cluster is %s (%s), want %s", c.Status.Phase, c.Status.StatusReason, cluster)
	}
	for i := 0; i < len(groups); i += 2 {
		g := h.group(groups[i])
		if string(g.Status.Phase) != groups[i+1] {
			h.t.Errorf("group %s is %s (%s), want %s", groups[i], g.Status.Phase, g.Status.StatusReason, groups[i+1])
		}
	}
}

// conditionsOf are true conditions.
func conditionsOf(types ...string) []any {
	var all []any
	for _, kind := range types {
		all = append(all, map[string]any{"type": kind, "status": "True"})
	}
	return all
}

// settle is Cluster API having done all that is asked of it.
func (h *harness) settle() {
	h.t.Helper()
	h.settlePlane()
	list := deployment().list()
	if err := h.client.List(h.t.Context(), list, client.InNamespace(namespace)); err != nil {
		h.t.Fatal(err)
	}
	for i := range list.Items {
		o := &list.Items[i]
		replicas, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		o.Object["status"] = map[string]any{"phase": "Running", "observedGeneration": o.GetGeneration(), "replicas": replicas, "readyReplicas": replicas, "upToDateReplicas": replicas}
		h.update(o)
	}
	c := h.object(capiCluster(), stack)
	c.Object["spec"] = map[string]any{"controlPlaneEndpoint": map[string]any{"host": "203.0.113.20", "port": int64(6443)}}
	c.Object["status"] = map[string]any{"conditions": conditionsOf("Available", "InfrastructureReady", "ControlPlaneAvailable", "ControlPlaneInitialized", "RemoteConnectionProbe")}
	h.update(c)
}

// settlePlane is the same for the control plane alone.
func (h *harness) settlePlane() {
	h.t.Helper()
	plane := h.object(controlPlane(), stack+"-control-plane")
	replicas, _, _ := unstructured.NestedInt64(plane.Object, "spec", "replicas")
	version, _, _ := unstructured.NestedString(plane.Object, "spec", "version")
	plane.Object["status"] = map[string]any{"observedGeneration": plane.GetGeneration(), "replicas": replicas, "readyReplicas": replicas, "upToDateReplicas": replicas,
		"version": version, "conditions": conditionsOf("Available", "MachinesReady", "EtcdClusterHealthy", "ControlPlaneComponentsHealthy")}
	h.update(plane)
}

func (h *harness) object(k kind, name string) *unstructured.Unstructured {
	h.t.Helper()
	o, err := get(h.t.Context(), h.client, k, namespace, name)
	if err != nil || o == nil {
		h.t.Fatalf("%s %s: %v", k.name, name, err)
	}
	return o
}

func (h *harness) update(o client.Object) {
	h.t.Helper()
	if err := h.client.Update(h.t.Context(), o); err != nil {
		h.t.Fatal(err)
	}
}

// ready is a cluster that is complete.
func ready(t *testing.T, change ...func(*v1alpha1.Cluster)) *harness {
	t.Helper()
	h := start(t, change...)
	h.pass()
	h.settle()
	h.pass()
	h.phases(v1alpha1.CreateComplete, "default-master", "CREATE_COMPLETE", "default-worker", "CREATE_COMPLETE")
	return h
}

// intercept puts something between the reconciler and the API server.
func (h *harness) intercept(f interceptor.Funcs) {
	wrapped := interceptor.NewClient(h.client.(client.WithWatch), f)
	h.r.client, h.r.live = wrapped, wrapped
}

func mustExtract(list client.ObjectList) []runtime.Object {
	objects, err := meta.ExtractList(list)
	if err != nil {
		panic(err)
	}
	return objects
}
