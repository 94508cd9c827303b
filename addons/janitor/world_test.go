package janitor

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

const capoFinalizer = "openstackcluster.infrastructure.cluster.x-k8s.io"

// world is a cloud, a management cluster and a janitor between them.
type world struct {
	*testing.T
	cloud  *sandboxtest.Cloud
	kube   client.Client
	events *record.FakeRecorder
	r      *reconciler
	// registry has the janitor's metrics.
	registry *prometheus.Registry
}

func newWorld(t *testing.T, edit ...func(*Options)) *world {
	t.Helper()
	o := DefaultOptions()
	for _, one := range edit {
		one(&o)
	}
	registry := prometheus.NewRegistry()
	m, err := newMeters(registry)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, cloud: sandboxtest.Start(t), kube: fakeKube(t), events: record.NewFakeRecorder(1000), registry: registry}
	w.r = newReconciler(o, m, w.kube, w.kube)
	w.r.events = w.events
	return w
}

// fakeKube serves the kinds without their Go types, as the janitor reads them.
func fakeKube(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	owner := schema.GroupVersionKind{Group: ownerKind().Group, Version: "v1beta2", Kind: ownerKind().Kind}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{owner.GroupVersion()})
	for _, kind := range []schema.GroupVersionKind{clusterKind(), identityKind(), owner, owner.GroupVersion().WithKind("Machine"), clusterKind().GroupVersion().WithKind("OpenStackMachine")} {
		scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &unstructured.UnstructuredList{})
		scope := meta.RESTScopeNamespace
		if kind == identityKind() {
			scope = meta.RESTScopeRoot
		}
		mapper.Add(kind, scope)
	}
	for _, kind := range []string{"Secret", "Namespace"} {
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), map[string]meta.RESTScope{"Secret": meta.RESTScopeNamespace, "Namespace": meta.RESTScopeRoot}[kind])
	}
	status := &unstructured.Unstructured{}
	status.SetGroupVersionKind(clusterKind())
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithStatusSubresource(status).Build()
}

// site is one cluster: its object, its Secret, and its network in the cloud.
type site struct {
	*world
	types.NamespacedName
	network, subnet, router string
}

// cluster makes a cluster that was provisioned, with an application credential.
func (w *world) cluster(namespace, name string, edit ...func(*unstructured.Unstructured)) *site {
	w.Helper()
	s := &site{world: w, NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	s.connect()
	w.secret(namespace, name+"-cloud-credentials", w.clouds(w.credential(false)), nil)
	object := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"identityRef":          map[string]any{"name": name + "-cloud-credentials", "cloudName": "openstack"},
			"controlPlaneEndpoint": map[string]any{"host": "203.0.113.9", "port": int64(6443)},
		},
		"status": map[string]any{"ready": true, "router": map[string]any{"id": s.router},
			"network": map[string]any{"id": s.network, "subnets": []any{map[string]any{"id": s.subnet}}}},
	}}
	object.SetGroupVersionKind(clusterKind())
	object.SetNamespace(namespace)
	object.SetName(name)
	object.SetFinalizers([]string{Finalizer})
	for _, one := range edit {
		one(object)
	}
	if err := w.kube.Create(w.Context(), object); err != nil {
		w.Fatal(err)
	}
	return s
}

// credential makes an application credential of the member.
func (w *world) credential(unrestricted bool) *applicationcredentials.ApplicationCredential {
	w.Helper()
	made, err := applicationcredentials.Create(w.Context(), w.cloud.Member.Identity(w), w.userID(),
		applicationcredentials.CreateOpts{Name: fmt.Sprintf("c%d", time.Now().UnixNano()), Unrestricted: unrestricted}).Extract()
	if err != nil {
		w.Fatal(err)
	}
	return made
}

func (w *world) userID() string {
	user, err := w.cloud.Member.Provider.GetAuthResult().(tokens.CreateResult).ExtractUser()
	if err != nil {
		w.Fatal(err)
	}
	return user.ID
}

func (w *world) clouds(c *applicationcredentials.ApplicationCredential) string {
	return fmt.Sprintf(`clouds:
  openstack:
    auth_type: v3applicationcredential
    region_name: RegionOne
    auth: {auth_url: "%s/identity", application_credential_id: %s, application_credential_secret: %s}
`, w.cloud.URL(), c.ID, c.Secret)
}

func (w *world) secret(namespace, name, clouds string, annotations map[string]string) {
	w.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: annotations}, Data: map[string][]byte{cloudsKey: []byte(clouds)}}
	err := w.kube.Create(w.Context(), secret)
	if apierrors.IsAlreadyExists(err) {
		err = w.kube.Update(w.Context(), secret)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// object reads the cluster's object; nil when it is gone.
func (s *site) object() *unstructured.Unstructured {
	s.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(clusterKind())
	err := s.kube.Get(s.Context(), s.NamespacedName, object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.Fatal(err)
	}
	return object
}

func (s *site) edit(change func(*unstructured.Unstructured)) {
	s.Helper()
	object := s.object()
	change(object)
	if err := s.kube.Update(s.Context(), object); err != nil {
		s.Fatal(err)
	}
}

func (s *site) annotate(key, value string) { s.edit(annotated(key, value)) }

func annotated(key, value string) func(*unstructured.Unstructured) {
	return func(object *unstructured.Unstructured) {
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = value
		object.SetAnnotations(annotations)
	}
}

func finalized(finalizers ...string) func(*unstructured.Unstructured) {
	return func(object *unstructured.Unstructured) { object.SetFinalizers(finalizers) }
}

func (s *site) delete() {
	s.Helper()
	if err := s.kube.Delete(s.Context(), s.object()); err != nil {
		s.Fatal(err)
	}
}

func (s *site) request() reconcile.Request {
	return reconcile.Request{NamespacedName: s.NamespacedName}
}

// silentServer takes connections and never answers.
func silentServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return "http://" + listener.Addr().String()
}

// once makes one attempt.
func (s *site) once() reconcile.Result {
	s.Helper()
	result, err := s.r.Reconcile(context.WithoutCancel(s.Context()), s.request())
	if err != nil {
		s.Fatal(err)
	}
	return result
}

// settle makes attempts, without pauses, until the object is gone.
func (s *site) settle() {
	s.Helper()
	for range 20 {
		if s.object() == nil {
			return
		}
		s.once()
	}
	s.Fatalf("%s is still there: %v", s.NamespacedName, conditionOf(s.object()))
}

// held makes a few attempts and wants the cluster to wait for that reason.
func (s *site) held(reason string, words ...string) {
	s.Helper()
	for range 3 {
		if result := s.once(); result.RequeueAfter == 0 {
			s.Errorf("%s: no further attempt is planned", s.NamespacedName)
		}
	}
	if s.object() == nil || !slices.Contains(s.object().GetFinalizers(), Finalizer) {
		s.Fatalf("%s was let go, want it to wait for %s", s.NamespacedName, reason)
	}
	condition := conditionOf(s.object())
	if condition["reason"] != reason || reason != ReasonCleaned && condition["status"] != "False" {
		s.Fatalf("condition %v, want reason %s", condition, reason)
	}
	for _, word := range words {
		if !strings.Contains(fmt.Sprint(condition["message"]), word) {
			s.Errorf("message %q does not name %q", condition["message"], word)
		}
	}
}

// told are the events so far.
func (w *world) told() string {
	var all []string
	for {
		select {
		case event := <-w.events.Events:
			all = append(all, event)
		default:
			return strings.Join(all, "\n")
		}
	}
}

func must[T any](t testing.TB, value T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func absent(t testing.TB, what string, err error) {
	t.Helper()
	if !gophercloud.ResponseCodeIs(err, 404) {
		t.Errorf("%s is there (%v)", what, err)
	}
}

func present(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}
