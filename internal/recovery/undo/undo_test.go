package undo

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/addons/clusterctl"
	"github.com/slipway-sh/slipway/addons/controllers"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/recovery"
)

// former and newer are the controllers of two bundles: another image and arguments, a
// variable and a Service that only the newer ones have, a definition with a field more, and
// one that is new.
const former = `
apiVersion: v1
kind: Namespace
metadata: {name: capi-system, labels: {provider: capi}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: capi-controller-manager, namespace: capi-system}
spec:
  replicas: 1
  selector: {matchLabels: {app: capi}}
  template:
    metadata: {labels: {app: capi}}
    spec: {containers: [{name: manager, image: "registry.k8s.io/capi:v1.12.2", args: [--leader-elect, --v=2]}]}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: capi-system}
data: {password: b2xk, removed: b2xk}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: capi-system}
data: {mode: former}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: capi-manager}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Boat, plural: boats, singular: boat, listKind: BoatList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {sails: {type: integer}}}}}}}
`

const newer = `
apiVersion: v1
kind: Namespace
metadata: {name: capi-system, labels: {provider: capi}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: capi-controller-manager, namespace: capi-system}
spec:
  replicas: 2
  selector: {matchLabels: {app: capi}}
  template:
    metadata: {labels: {app: capi}}
    spec: {containers: [{name: manager, image: "registry.k8s.io/capi:v1.13.0", args: [--leader-elect, --v=4], env: [{name: NEW, value: "1"}]}]}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: capi-system}
data: {password: bmV3}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: capi-system}
data: {mode: newer, more: "1"}
---
apiVersion: v1
kind: Service
metadata: {name: capi-new, namespace: capi-system}
spec: {selector: {app: capi}, ports: [{port: 443}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: capi-manager}
rules: [{apiGroups: [""], resources: [secrets, pods], verbs: [get, list]}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Boat, plural: boats, singular: boat, listKind: BoatList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {sails: {type: integer}, oars: {type: integer}}}}}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rafts.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Raft, plural: rafts, singular: raft, listKind: RaftList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

// available is the Wait of a server without nodes.
func available(context.Context, []types.NamespacedName, func(string)) error { return nil }

func connect(t *testing.T, config *rest.Config, before func(n int, r *http.Request) error) *kube.Cluster {
	t.Helper()
	config = rest.CopyConfig(config)
	if before != nil {
		var mu sync.Mutex
		n := 0
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Method != http.MethodGet {
					mu.Lock()
					n++
					err := before(n, r)
					mu.Unlock()
					if err != nil {
						return nil, err
					}
				}
				return next.RoundTrip(r)
			})
		})
	}
	on, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return on
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func apply(t *testing.T, on *kube.Cluster, text string) {
	t.Helper()
	if err := on.Apply(t.Context(), []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, on *kube.Cluster) Applied {
	t.Helper()
	all, err := Read(t.Context(), on)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// compared is the plan from what is there to what was applied before.
func compared(t *testing.T, on *kube.Cluster, was Applied) *Plan {
	t.Helper()
	definitions, err := Definitions(t.Context(), on)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(was, read(t, on), definitions)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// text is what is applied, as a backup has it.
func text(t *testing.T, all Applied) string {
	t.Helper()
	encoded, err := all.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}

// TestUndo has a real API server, on which slipway up applied one set of controllers and
// then another.
func TestUndo(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	on := connect(t, server.Config, nil)
	apply(t, on, former)
	// What others made is none of it.
	if _, err := on.Typed.CoreV1().ConfigMaps("capi-system").Create(t.Context(), configMap("theirs"), create()); err != nil {
		t.Fatal(err)
	}
	was, err := Decode([]byte(text(t, read(t, on))))
	if err != nil || len(was) != 6 {
		t.Fatalf("%d objects were applied, %v:\n%s", len(was), err, text(t, was))
	}
	if p := compared(t, on, was); !p.Empty() {
		t.Fatalf("nothing was changed, and the plan is %+v", p)
	}
	t.Run("there and back", func(t *testing.T) { thereAndBack(t, on, was) })
	t.Run("killed anywhere", func(t *testing.T) { killedAnywhere(t, server.Config, was, 3) })
	t.Run("record", func(t *testing.T) { recorded(t, on) })
}

func thereAndBack(t *testing.T, on *kube.Cluster, was Applied) {
	apply(t, on, newer)
	boat(t, on, "one")
	p := compared(t, on, was)
	want := []Version{{"capi-system/capi-controller-manager", "v1.13.0", "v1.12.2"}}
	if !slices.Equal(p.Versions, want) || !slices.Equal(p.Removed, []string{"Service capi-system/capi-new"}) || len(p.Kept) != 1 || !strings.Contains(p.Kept[0].Object, "rafts.example.org") {
		t.Errorf("the plan is %+v", p)
	}
	if err := p.Run(t.Context(), on, available, func(string) {}); err != nil {
		t.Fatal(err)
	}
	isFormer(t, on, was)
	if p := compared(t, on, was); !p.Empty() {
		t.Errorf("a second plan is %+v", p)
	}
	if boats, err := on.Dynamic.Resource(boats()).Namespace("default").List(t.Context(), list_()); err != nil || len(boats.Items) != 1 {
		t.Errorf("the tenants' objects: %v, %v", boats, err)
	}
}

// isFormer wants all objects as they were, but for logins.
func isFormer(t *testing.T, on *kube.Cluster, was Applied) {
	t.Helper()
	now := byKey(read(t, on))
	for _, o := range was {
		got := now[key(o)]
		if got == nil {
			t.Errorf("%s is gone", recovery.Describe(o))
			continue
		}
		if o.GetKind() == "Secret" {
			data, _, _ := unstructured.NestedStringMap(got.Object, "data")
			if !maps.Equal(data, map[string]string{"password": "bmV3", "removed": "b2xk"}) {
				t.Errorf("the login is %v", data)
			}
			continue
		}
		if !same(o, got) {
			t.Errorf("%s is\n%v, was\n%v", recovery.Describe(o), got.Object, o.Object)
		}
	}
	d, err := on.Typed.AppsV1().Deployments("capi-system").Get(t.Context(), "capi-controller-manager", get())
	if err != nil {
		t.Fatal(err)
	}
	c := d.Spec.Template.Spec.Containers[0]
	if c.Image != "registry.k8s.io/capi:v1.12.2" || !slices.Equal(c.Args, []string{"--leader-elect", "--v=2"}) || len(c.Env) != 0 || *d.Spec.Replicas != 1 {
		t.Errorf("the Deployment is %+v, %d replicas", c, *d.Spec.Replicas)
	}
	m, err := on.Typed.CoreV1().ConfigMaps("capi-system").Get(t.Context(), "settings", get())
	if err != nil || !maps.Equal(m.Data, map[string]string{"mode": "former"}) {
		t.Errorf("the settings are %v, %v", m.Data, err)
	}
	if _, err := on.Typed.CoreV1().Services("capi-system").Get(t.Context(), "capi-new", get()); !kube.Absent(err) {
		t.Errorf("the newer Service: %v", err)
	}
}

var errKilled = errors.New("killed")

// TestKilledAtEachRequest is what TestUndo has no time for.
func TestKilledAtEachRequest(t *testing.T) {
	t.Parallel()
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("SLIPWAY_PROOFS is not set: run make proofs")
	}
	server := kubetest.Start(t)
	on := connect(t, server.Config, nil)
	apply(t, on, former)
	killedAnywhere(t, server.Config, read(t, on), 1)
}

// killedAnywhere ends an undo before every so many of its writing requests, and runs it
// again.
func killedAnywhere(t *testing.T, config *rest.Config, was Applied, step int) {
	on := connect(t, config, nil)
	for point := 1; ; point += step {
		apply(t, on, newer)
		ctx, cancel := context.WithCancelCause(t.Context())
		wire := connect(t, config, func(n int, _ *http.Request) error {
			if n >= point {
				cancel(errKilled)
				return errKilled
			}
			return nil
		})
		err := compared(t, on, was).Run(ctx, wire, available, func(string) {})
		cancel(nil)
		if err == nil {
			if point < 5 {
				t.Errorf("it has only %d requests", point-1)
			}
			break
		}
		if err := compared(t, on, was).Run(t.Context(), on, available, func(string) {}); err != nil {
			t.Fatalf("point %d: %v", point, err)
		}
		isFormer(t, on, was)
	}
	isFormer(t, on, was)
}

// TestWhatCannotBeUndone: a kind whose objects are stored in a version that the former
// definition does not have.
func TestWhatCannotBeUndone(t *testing.T) {
	t.Parallel()
	definition := func(stored ...any) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "boats.example.org"},
			"spec": map[string]any{"versions": []any{map[string]any{"name": "v1beta1"}}}}}
		if stored != nil {
			o.Object["status"] = map[string]any{"storedVersions": stored}
		}
		return o
	}
	was := Applied{definition()}
	for name, test := range map[string]struct {
		stored []any
		want   string
	}{
		"the same":     {[]any{"v1beta1"}, ""},
		"a newer one":  {[]any{"v1beta1", "v1beta2"}, "stored as v1beta2"},
		"nothing":      {[]any{}, ""},
		"two of newer": {[]any{"v1", "v2"}, "stored as v2"},
	} {
		_, err := NewPlan(was, was, []*unstructured.Unstructured{definition(test.stored...)})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKindsAreKnown: whatever kind this Slipway applies on a management cluster, an undo
// looks for it.
func TestKindsAreKnown(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SLIPWAY_BUNDLE")
	if dir == "" {
		t.Skip("SLIPWAY_BUNDLE names no bundle: run make e2e")
	}
	folder, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := clusterctl.Objects(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, options := range []controllers.Options{{}, {Magnum: &controllers.Magnum{Address: "192.0.2.1", Clouds: "{}", Administrator: "{}"}}} {
		own, err := controllers.Objects(options)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, own...)
	}
	missing := map[string]bool{}
	for _, o := range all {
		kind := o.GroupVersionKind()
		switch {
		case o.GetNamespace() == "" && slices.Contains(clusterwide(), kind):
		case slices.Contains(namespaced(), kind) && (slices.Contains(recovery.ControllerNamespaces(), o.GetNamespace()) || slices.Contains(elsewhere(), o.GetKind()+" "+o.GetNamespace())):
		default:
			missing[kind.String()+" in "+o.GetNamespace()] = true
		}
	}
	if len(missing) > 0 || len(all) < 100 {
		t.Errorf("of %d objects, an undo would not see %v", len(all), slices.Sorted(maps.Keys(missing)))
	}
}
