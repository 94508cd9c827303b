package kube

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// definer is an API server that serves a kind once it is defined, and takes its objects.
func definer(t *testing.T, defined *atomic.Bool) *Cluster {
	t.Helper()
	version := metav1.GroupVersionForDiscovery{GroupVersion: "example.org/v1", Version: "v1"}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer any = metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}}
		switch {
		case r.URL.Path == "/apis":
			list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
			crds := metav1.GroupVersionForDiscovery{GroupVersion: "apiextensions.k8s.io/v1", Version: "v1"}
			apps := metav1.GroupVersionForDiscovery{GroupVersion: "apps/v1", Version: "v1"}
			list.Groups = []metav1.APIGroup{{Name: "apiextensions.k8s.io", Versions: []metav1.GroupVersionForDiscovery{crds}, PreferredVersion: crds},
				{Name: "apps", Versions: []metav1.GroupVersionForDiscovery{apps}, PreferredVersion: apps}}
			if defined.Load() {
				list.Groups = append(list.Groups, metav1.APIGroup{Name: "example.org", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
			}
			answer = list
		case r.URL.Path == "/apis/apiextensions.k8s.io/v1":
			answer = metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "apiextensions.k8s.io/v1",
				APIResources: []metav1.APIResource{{Name: "customresourcedefinitions", Kind: "CustomResourceDefinition", Verbs: metav1.Verbs{"patch", "get"}}}}
		case r.URL.Path == "/apis/apps/v1":
			answer = metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "apps/v1",
				APIResources: []metav1.APIResource{{Name: "deployments", Kind: "Deployment", Namespaced: true, Verbs: metav1.Verbs{"patch", "get"}}}}
		case r.URL.Path == "/apis/apps/v1/namespaces/n/deployments/manager" && !defined.Load():
			t.Error("the Deployment came before its kinds were served")
		case r.URL.Path == "/apis/example.org/v1" && !defined.Load():
			http.NotFound(w, r)
			return
		case r.URL.Path == "/apis/example.org/v1":
			answer = metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "example.org/v1",
				APIResources: []metav1.APIResource{{Name: "things", Kind: "Thing", Verbs: metav1.Verbs{"patch", "get"}}}}
		case r.Method == http.MethodPatch:
			answer = map[string]any{"apiVersion": "example.org/v1", "kind": "Thing", "metadata": map[string]any{"name": "custom"}}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(s.Close)
	c, err := New(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestAnObjectWaitsForItsDefinition until the deadline, which names the object and the kind
// that is not defined; one that is defined meanwhile is applied.
//
// proves: S-26
func TestAnObjectWaitsForItsDefinition(t *testing.T) {
	t.Parallel()
	objects, err := Decode(strings.NewReader("{apiVersion: example.org/v1, kind: Thing, metadata: {name: custom}}"))
	if err != nil {
		t.Fatal(err)
	}
	waitsForKind(t, func(ctx context.Context, c *Cluster) error { return c.ApplyEach(ctx, objects, Progress{}) }, "Thing custom", `no matches for kind "Thing"`)
}

// waitsForKind does something on an API server that serves the kind it needs later, which
// must work then and not before, or never, whose error must have some words.
func waitsForKind(t *testing.T, do func(context.Context, *Cluster) error, never ...string) {
	t.Helper()
	for name, later := range map[string]time.Duration{"never": 0, "meanwhile": 700 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var defined atomic.Bool
			c := definer(t, &defined)
			limit := time.Second
			if later > 0 {
				limit = time.Minute
				time.AfterFunc(later, func() { defined.Store(true) })
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), limit, errors.New("not in time"))
			defer cancel()
			err := do(ctx, c)
			if later > 0 && (err != nil || !defined.Load()) || later == 0 && err == nil {
				t.Fatalf("%v, with the kind served: %t", err, defined.Load())
			}
			for _, words := range never {
				if later == 0 && !strings.Contains(err.Error(), words) {
					t.Errorf("%v; wanted %q", err, words)
				}
			}
		})
	}
}

// things is the definition of the kind that definer serves.
const things = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.org}, spec: {group: example.org,
  names: {plural: things, kind: Thing}, scope: Cluster, versions: [{name: v0, served: false}, {name: v1, served: true}]}}`

// TestADefinitionIsWaitedForUntilItIsServed: a restore that wrote objects of the Magnum API
// right after its definitions was refused, because the API server accepts a definition before
// it serves it.
func TestADefinitionIsWaitedForUntilItIsServed(t *testing.T) {
	t.Parallel()
	waitsForKind(t, func(ctx context.Context, c *Cluster) error {
		return c.Define(ctx, map[string][]byte{"things.yaml": []byte(things)})
	},
		"example.org/v1 Thing is not served: not in time")
}

// TestAControllerWaitsForItsKinds: started before the API server serves them it ends, again and
// again, as on an emulated machine that took minutes for a hundred definitions.
func TestAControllerWaitsForItsKinds(t *testing.T) {
	t.Parallel()
	objects, err := Decode(strings.NewReader("{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: n, name: manager}}\n---\n" + things))
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	waitsForKind(t, func(ctx context.Context, c *Cluster) error {
		return c.ApplyEach(ctx, objects, Progress{Unserved: func(definition string) {
			if asked.Add(1); definition != "things.example.org" {
				t.Errorf("waits for definition %q", definition)
			}
		}})
	}, "example.org/v1 Thing is not served: not in time", "kubectl get crd things.example.org -o yaml")
	t.Cleanup(func() {
		if asked.Load() == 0 {
			t.Error("nobody was told of the definition")
		}
	})
}
