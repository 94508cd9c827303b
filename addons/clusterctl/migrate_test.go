package clusterctl_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/clusterctl"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// definition is one of Things in these versions, the one in capitals being stored.
func definition(t *testing.T, versions ...string) *unstructured.Unstructured {
	t.Helper()
	text := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.org}\n" +
		"spec:\n  group: example.org\n  scope: Namespaced\n  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}\n  versions:\n"
	for _, version := range versions {
		text += fmt.Sprintf("  - {name: %s, served: true, storage: %t, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n",
			strings.ToLower(version), version != strings.ToLower(version))
	}
	objects, err := kube.Decode(strings.NewReader(text))
	if err != nil || len(objects) != 1 {
		t.Fatalf("%v, %v", objects, err)
	}
	return objects[0]
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// site is a real API server with three Things, which were stored when v1alpha7 was.
type site struct {
	*testing.T
	client client.WithWatch
	kube   *kube.Cluster
}

func newSite(t *testing.T) site {
	t.Helper()
	server := kubetest.Start(t)
	c, err := client.NewWithWatch(server.Config, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := kube.New(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	s := site{t, c, cluster}
	s.apply(definition(t, "V1ALPHA7"))
	for i := range 3 {
		s.apply(thing(fmt.Sprintf("thing-%d", i), "v1alpha7"))
	}
	s.apply(definition(t, "v1alpha7", "V1BETA1"))
	s.stores("v1alpha7", "v1beta1")
	return s
}

func thing(name, version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.org/" + version, "kind": "Thing",
		"metadata": map[string]any{"name": name, "namespace": "default"}, "spec": map[string]any{"kept": name}}}
}

func (s site) apply(object *unstructured.Unstructured) {
	s.Helper()
	if err := s.kube.ApplyObjects(s.Context(), []*unstructured.Unstructured{object}); err != nil {
		s.Fatal(err)
	}
}

// stores waits until the definition lists these versions: the API server writes it by itself
// when it is asked to store another.
func (s site) stores(want ...string) {
	s.Helper()
	now := &apiextensionsv1.CustomResourceDefinition{}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := s.client.Get(s.Context(), client.ObjectKey{Name: "things.example.org"}, now)
		if err == nil && slices.Equal(now.Status.StoredVersions, want) {
			return
		}
		if time.Now().After(end) {
			s.Fatalf("stored are %v, not %v; %v", now.Status.StoredVersions, want, err)
		}
	}
}

// TestStoredObjectsAreMigrated on a real API server: it refuses a definition that lacks a
// version that is stored. A migration that is ended in the middle leaves the older version
// listed, and the next one goes on. After it the newer definition is applied, and every object
// is read through it with what it had.
//
// proves: F30
func TestStoredObjectsAreMigrated(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	newer := definition(t, "v1beta1", "V1BETA2")
	if err := s.kube.ApplyObjects(t.Context(), []*unstructured.Unstructured{newer}); err == nil {
		t.Fatal("the API server took a definition without a version that is stored: this test shows nothing")
	}

	ended := errors.New("the process was killed")
	ctx, end := context.WithCancelCause(t.Context())
	written := 0
	killed := interceptor.NewClient(s.client, interceptor.Funcs{Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
		if written++; written == 2 {
			end(ended)
			return ended
		}
		return c.Update(ctx, o, options...)
	}})
	if err := clusterctl.Migrate(ctx, killed, []*unstructured.Unstructured{newer}); err == nil {
		t.Fatal("a migration that was ended is a success")
	}
	s.stores("v1alpha7", "v1beta1")

	if err := clusterctl.Migrate(t.Context(), s.client, []*unstructured.Unstructured{newer}); err != nil {
		t.Fatal(err)
	}
	s.stores("v1beta1")
	s.apply(newer)
	for i := range 3 {
		name := fmt.Sprintf("thing-%d", i)
		now := thing(name, "v1beta2")
		err := s.client.Get(t.Context(), client.ObjectKeyFromObject(now), now)
		for end := time.Now().Add(30 * time.Second); err != nil && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			err = s.client.Get(t.Context(), client.ObjectKeyFromObject(now), now) // a new version is served soon, not at once
		}
		if err != nil {
			t.Errorf("%s cannot be read any more: %v", name, err)
		}
		if kept, _, _ := unstructured.NestedString(now.Object, "spec", "kept"); kept != name {
			t.Errorf("%s lost what it had: %v", name, now.Object)
		}
	}
	if err := clusterctl.Migrate(t.Context(), s.client, []*unstructured.Unstructured{newer}); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

// TestADefinitionThatLostTheStoredVersionIsRefused: each one, and before anything is written.
func TestADefinitionThatLostTheStoredVersionIsRefused(t *testing.T) {
	t.Parallel()
	now := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(definition(t, "v1alpha6", "V1ALPHA7").Object, now); err != nil {
		t.Fatal(err)
	}
	now.Status.StoredVersions = []string{"v1alpha6", "v1alpha7"}
	wrote := false
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(now).Build(), interceptor.Funcs{
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			wrote = true
			return nil
		}})
	other := definition(t, "V1")
	other.SetName("others.example.org") // new: nothing is stored
	err := clusterctl.Migrate(t.Context(), c, []*unstructured.Unstructured{other, definition(t, "v1beta1", "V1BETA2")})
	if fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), "things.example.org") || !strings.Contains(err.Error(), "stored as v1alpha7") ||
		!strings.Contains(fault.Remedy(err), "in between") || wrote {
		t.Errorf("%v (remedy %q, wrote %v)", err, fault.Remedy(err), wrote)
	}
}

// TestAnAPIServerThatIsAwayIsToldOnce and not for every definition.
func TestAnAPIServerThatIsAwayIsToldOnce(t *testing.T) {
	t.Parallel()
	away := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme(t)).Build(), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("connection refused")
		}})
	other := definition(t, "V1")
	other.SetName("others.example.org")
	err := clusterctl.Migrate(t.Context(), away, []*unstructured.Unstructured{other, definition(t, "V1")})
	if err == nil || err.Error() != "reading the cluster's definitions: connection refused" {
		t.Errorf("told %v", err)
	}
}

// TestDefinitionsAreReadTogether: an upgrade that has nothing to migrate, as almost all have, asks
// once for all of them.
func TestDefinitionsAreReadTogether(t *testing.T) {
	t.Parallel()
	var there []client.Object
	var newer []*unstructured.Unstructured
	for i := range 20 {
		object := definition(t, "v1alpha7", "V1BETA1")
		object.SetName(fmt.Sprintf("things%d.example.org", i))
		now := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, now); err != nil {
			t.Fatal(err)
		}
		now.Status.StoredVersions = []string{"v1beta1"}
		there, newer = append(there, now), append(newer, object)
	}
	asked := 0
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(there...).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			asked++
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			asked++
			return c.List(ctx, list, options...)
		}})
	if err := clusterctl.Migrate(t.Context(), c, newer); err != nil || asked != 1 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}
