package recovery_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/recoverytest"
)

func TestOwnersComeFirstAndClustersBeforeAllThatIsTheirs(t *testing.T) {
	t.Parallel()
	g := recoverytest.New("a", "b")
	plan, err := recovery.NewPlan(g.Snapshot, recovery.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	at := map[types.UID]int{}
	cluster := map[string]int{}
	for n, step := range plan.Steps {
		for _, o := range step {
			at[o.GetUID()] = n
			if o.GetKind() == "Cluster" && strings.HasPrefix(o.GetAPIVersion(), "cluster.x-k8s.io/") {
				cluster[o.GetNamespace()] = n
			}
		}
	}
	namespaces := 0
	for _, step := range plan.Steps {
		for _, o := range step {
			for _, r := range o.GetOwnerReferences() {
				if at[r.UID] >= at[o.GetUID()] {
					t.Errorf("%s is in step %d, its owner %s in %d", recovery.Describe(o), at[o.GetUID()], r.Name, at[r.UID])
				}
			}
			group := o.GroupVersionKind().Group
			if at[o.GetUID()] <= cluster[o.GetNamespace()] && o.GetKind() != "Cluster" && (strings.HasSuffix(group, "cluster.x-k8s.io") || strings.HasPrefix(group, "addons")) {
				t.Errorf("%s comes before its Cluster", recovery.Describe(o))
			}
			if o.GetKind() == "Namespace" {
				namespaces++
				if at[o.GetUID()] != 0 {
					t.Errorf("%s is in step %d", recovery.Describe(o), at[o.GetUID()])
				}
			}
		}
	}
	if namespaces != 2 || len(plan.Dangling) != 0 {
		t.Errorf("%d namespaces, dangling: %v", namespaces, plan.Dangling)
	}
}

// names are the objects of a plan as text.
func names(plan *recovery.Plan) (all []string) {
	for _, step := range plan.Steps {
		for _, o := range step {
			all = append(all, recovery.Describe(o))
		}
	}
	return all
}

func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	g := recoverytest.New("demo", "a", "b")
	for _, o := range g.Snapshot.Objects { // the management cluster is in namespace default
		if o.GetNamespace() == "demo" {
			o.SetNamespace("default")
		}
	}
	authority := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "slipway-magnum-authority", "namespace": "slipway-system", "uid": "authority"}}}
	home := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "slipway-system", "uid": "home"}}}
	definition := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "x", "uid": "x"}}}
	g.Snapshot.Objects = append(g.Snapshot.Objects, authority, home, definition)
	for name, test := range map[string]struct {
		scope    recovery.Scope
		has, not []string
	}{
		"everything": {recovery.Scope{Own: "default/demo"},
			[]string{"Cluster a/a", "Cluster b/b", "Machine b/b-md-2", "Secret slipway-system/slipway-magnum-authority", "Namespace slipway-system", "ClusterTemplate a/a-template"},
			[]string{"Cluster default/demo", "Machine default/demo-cp-1", "Secret default/demo-ca", "Secret default/demo-files", "Secret default/sh.helm.release.v1.demo.v1", "Secret default/demo-cloud-credentials",
				"Namespace kube-system", "Namespace demo", "Secret kube-system/of-the-system", "CustomResourceDefinition x", "Secret a/a-token"}},
		"one cluster": {recovery.Scope{Own: "default/demo", Cluster: "a"},
			[]string{"Namespace a", "Cluster a/a", "Machine a/a-cp-1", "Secret a/a-ca", "Secret a/a-files", "Secret a/a-cloud-credentials", "Secret a/sh.helm.release.v1.a.v1", "ClusterTemplate a/a-template", "NodeGroup a/a-default-worker", "OpenStackServer a/a-md-1"},
			[]string{"Cluster b/b", "Namespace b", "Cluster default/demo", "Secret slipway-system/slipway-magnum-authority", "Namespace slipway-system"}},
	} {
		plan, err := recovery.NewPlan(g.Snapshot, test.scope)
		if err != nil {
			t.Fatal(err)
		}
		got := names(plan)
		for _, one := range test.has {
			if !slices.Contains(got, one) {
				t.Errorf("%s: %s is left out", name, one)
			}
		}
		for _, one := range test.not {
			if slices.Contains(got, one) {
				t.Errorf("%s: %s is restored", name, one)
			}
		}
		if len(got)+len(plan.Skipped) != len(g.Snapshot.Objects)-namespacesLeft(g, got) {
			t.Errorf("%s: %d restored and %d left out of %d", name, len(got), len(plan.Skipped), len(g.Snapshot.Objects))
		}
	}
}

// namespacesLeft are those of the snapshot that are not restored: they are no loss
// to tell of.
func namespacesLeft(g *recoverytest.Graph, got []string) (n int) {
	for _, o := range g.Snapshot.Objects {
		if o.GetKind() == "Namespace" && !slices.Contains(got, recovery.Describe(o)) {
			n++
		}
	}
	return n
}

func TestAClusterIsFoundByNameUUIDAndPlace(t *testing.T) {
	t.Parallel()
	g := recoverytest.New("a", "b")
	for _, wanted := range []string{"a", "a/a"} {
		if _, err := recovery.NewPlan(g.Snapshot, recovery.Scope{Cluster: wanted}); err != nil {
			t.Errorf("%s: %v", wanted, err)
		}
	}
	for wanted, cause := range map[string]string{"c": `no cluster "c"`, "22222222-0000-4000-8000-000000000000": "several clusters"} {
		if _, err := recovery.NewPlan(g.Snapshot, recovery.Scope{Cluster: wanted}); err == nil || !strings.Contains(err.Error(), cause) {
			t.Errorf("%s: %v", wanted, err)
		}
	}
}

func TestDamagedBackups(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		damage func(g *recoverytest.Graph)
		cause  string
	}{
		"two of one UID": {func(g *recoverytest.Graph) { g.Find("Machine", "a-md-1").SetUID(g.Find("Machine", "a-md-2").GetUID()) }, "the same UID"},
		"no UID":         {func(g *recoverytest.Graph) { g.Find("Machine", "a-md-1").SetUID("") }, "no UID"},
		"a circle": {func(g *recoverytest.Graph) {
			g.Find("MachineDeployment", "a-md").SetOwnerReferences([]metav1.OwnerReference{{Kind: "Machine", Name: "a-md-1", UID: g.Find("Machine", "a-md-1").GetUID()}})
		}, "it owns itself"},
	} {
		g := recoverytest.New("a")
		test.damage(g)
		_, err := recovery.NewPlan(g.Snapshot, recovery.Scope{})
		if err == nil || !strings.Contains(err.Error(), test.cause) || fault.Remedy(err) == "" {
			t.Errorf("%s: %v, %q", name, err, fault.Remedy(err))
		}
	}
}

// The Magnum API tells of the first creation, also after a second restore.
func TestAClusterKeepsTheTimeOfItsCreation(t *testing.T) {
	t.Parallel()
	o := recoverytest.New("a").Find("ClusterTemplate", "a-template")
	first := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for n := range 2 {
		o.SetCreationTimestamp(metav1.NewTime(first.AddDate(0, n, 0)))
		o = recovery.Prepare(o, nil)
		if at := v1alpha1.Created(o); !at.Time.Equal(first) {
			t.Errorf("after restore %d it was created at %s", n+1, at)
		}
	}
}

func TestPreparedObjects(t *testing.T) {
	t.Parallel()
	g := recoverytest.New("a")
	machine := g.Find("Machine", "a-md-1")
	old := machine.GetOwnerReferences()[0].UID
	set(t, machine, []any{map[string]any{"kind": "X", "uid": string(old)}}, "spec", "list")
	before := machine.DeepCopy()
	o := recovery.Prepare(machine, recovery.UIDs{old: "new"})
	for _, field := range []string{"resourceVersion", "uid", "managedFields", "creationTimestamp", "generation"} {
		if _, there, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata", field); there {
			t.Errorf("metadata.%s is kept", field)
		}
	}
	if o.Object["status"] != nil || o.GetOwnerReferences()[0].UID != "new" || !slices.Equal(o.GetFinalizers(), machine.GetFinalizers()) || o.GetAnnotations()[recovery.AnnotationUID] != string(machine.GetUID()) {
		t.Errorf("prepared: %v", o.Object)
	}
	if list, _, _ := unstructured.NestedSlice(o.Object, "spec", "list"); list[0].(map[string]any)["uid"] != "new" {
		t.Errorf("a UID in the spec: %v", list)
	}
	if without := recovery.Prepare(machine, nil); len(without.GetOwnerReferences()) != 0 {
		t.Errorf("an owner without a new UID is kept: Kubernetes would collect the object")
	}
	now := metav1.Now()
	machine.SetDeletionTimestamp(&now)
	if recovery.Prepare(machine, nil).GetDeletionTimestamp() != nil {
		t.Error("deletionTimestamp is kept")
	}
	machine.SetDeletionTimestamp(nil)
	if !recovery.Same(o, machine.GetUID()) || recovery.Same(o, "another") {
		t.Error("the restored object is not known again")
	}
	if !equal(before, machine) {
		t.Error("the snapshot was changed")
	}
}

func equal(a, b *unstructured.Unstructured) bool {
	x, _ := a.MarshalJSON()
	y, _ := b.MarshalJSON()
	return string(x) == string(y)
}

func TestHeldAndReleased(t *testing.T) {
	t.Parallel()
	g := recoverytest.New("a")
	deployment := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "d"}, "spec": map[string]any{"replicas": int64(2)}}}
	paused := g.Find("Cluster", "a").DeepCopy()
	if paused.GroupVersionKind().Group != "cluster.x-k8s.io" {
		t.Fatalf("found %s", paused.GetAPIVersion())
	}
	set(t, paused, true, "spec", "paused")
	addon := g.Find("HelmRelease", "a-cni")
	own := addon.DeepCopy()
	own.SetAnnotations(map[string]string{recovery.AnnotationPaused: "true"})
	for name, test := range map[string]struct {
		o    *unstructured.Unstructured
		stop func(*unstructured.Unstructured) bool
	}{
		"cluster":                 {g.Find("Cluster", "a"), func(o *unstructured.Unstructured) bool { return o.Object["spec"].(map[string]any)["paused"] == true }},
		"cluster that was paused": {paused, func(o *unstructured.Unstructured) bool { return o.Object["spec"].(map[string]any)["paused"] == true }},
		"deployment": {deployment, func(o *unstructured.Unstructured) bool {
			return o.Object["spec"].(map[string]any)["replicas"] == int64(0)
		}},
		"addon":                 {addon, func(o *unstructured.Unstructured) bool { return o.GetAnnotations()[recovery.AnnotationPaused] != "" }},
		"addon that was paused": {own, func(o *unstructured.Unstructured) bool { return o.GetAnnotations()[recovery.AnnotationPaused] != "" }},
	} {
		before := test.o.DeepCopy()
		if recovery.Held(test.o) || recovery.Release(test.o) {
			t.Errorf("%s is held before", name)
		}
		if !recovery.Hold(test.o) || !recovery.Held(test.o) || !test.stop(test.o) {
			t.Errorf("%s is not held: %v", name, test.o.Object)
		}
		if recovery.Hold(test.o); !recovery.Release(test.o) || !equal(before, test.o) { // holding twice forgets nothing
			t.Errorf("%s was\n%v, is\n%v", name, before.Object, test.o.Object)
		}
		// A backup of a time when it was held.
		recovery.Hold(test.o)
		again := recovery.Prepare(test.o, nil)
		if !recovery.Release(again) || test.stop(again) != test.stop(before) {
			t.Errorf("%s comes back as\n%v", name, again.Object)
		}
	}
	if machine := g.Find("Machine", "a-md-1"); recovery.Hold(machine) || recovery.Held(machine) {
		t.Error("a Machine is held by itself")
	}
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	g := recoverytest.New("a")
	cluster, live := g.Find("Cluster", "a"), g.Find("Cluster", "a").DeepCopy()
	live.SetGeneration(1)
	status, ok := recovery.Status(cluster, live, nil)
	if !ok || status["observedGeneration"] != int64(1) || status["conditions"].([]any)[0].(map[string]any)["observedGeneration"] != int64(1) {
		t.Errorf("a latest generation: %v", status)
	}
	if len(status["conditions"].([]any)) != 1 {
		t.Errorf("the new controllers have not looked whether it is paused: %v", status["conditions"])
	}
	older := cluster.DeepCopy()
	older.Object["status"].(map[string]any)["v1beta2"] = map[string]any{"conditions": []any{map[string]any{"type": "Paused", "status": "False"}}}
	if old, _ := recovery.Status(older, live, nil); len(old["v1beta2"].(map[string]any)["conditions"].([]any)) != 0 {
		t.Errorf("of v1beta1: %v", old["v1beta2"])
	}
	cluster.SetGeneration(4)                                                                  // the controllers had not seen it
	if status, _ = recovery.Status(cluster, live, nil); status["observedGeneration"] != nil { // a schema wants at least 1
		t.Errorf("an older generation: %v", status["observedGeneration"])
	}
	if _, ok := recovery.Status(g.Find("Secret", "a-ca"), live, nil); ok {
		t.Error("a Secret has a status")
	}
	whole := map[string]any{"a": "b", "n": int64(1), "list": []any{"x"}, "conditions": []any{map[string]any{"type": "Ready"}}}
	for name, test := range map[string]struct {
		live map[string]any
		want bool
	}{
		"the same":              {whole, true},
		"nothing":               {nil, false},
		"more":                  {map[string]any{"a": "b", "n": int64(1), "list": []any{"x"}, "c": "d", "conditions": []any{map[string]any{"type": "Paused"}, map[string]any{"type": "Ready"}}}, true},
		"another value":         {map[string]any{"a": "c", "n": int64(1), "list": []any{"x"}, "conditions": []any{map[string]any{"type": "Ready"}}}, false},
		"a longer list":         {map[string]any{"a": "b", "n": int64(1), "list": []any{"x", "y"}, "conditions": []any{map[string]any{"type": "Ready"}}}, false},
		"without the condition": {map[string]any{"a": "b", "n": int64(1), "list": []any{"x"}, "conditions": []any{map[string]any{"type": "Paused"}}}, false},
	} {
		if got := recovery.Has(test.live, whole); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
