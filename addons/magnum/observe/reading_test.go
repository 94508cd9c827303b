package observe

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestWaiting: what Cluster API or an addon says is not there yet, in either contract.
func TestWaiting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*testing.T, *Objects)
		want   string
	}{
		"nothing":    {func(*testing.T, *Objects) {}, ""},
		"no cluster": {func(_ *testing.T, o *Objects) { o.Cluster = nil }, ""},
		"its words":  {func(t *testing.T, o *Objects) { fail(t, o.Cluster, "Available", "workers") }, "workers"},
		"older words": {func(t *testing.T, o *Objects) {
			o.Cluster = object(t, `{kind: Cluster, status: {conditions: [{type: Ready, status: "False", message: "1 of 3"}]}}`)
		}, "1 of 3"},
		"an addon":       {func(t *testing.T, o *Objects) { set(t, o.Addons[0], "Installing", "status", "phase") }, "HelmRelease shop-cni-calico: Installing"},
		"an addon's sum": {func(t *testing.T, o *Objects) { set(t, o.Addons[0], "", "status", "phase") }, "HelmRelease shop-cni-calico: not checked yet"},
	} {
		o := ready(t)
		test.change(t, &o)
		if got := Of(o).Waiting; got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestWhatIsNotSaidIsNotTrue: a cluster of which nothing is known is not ready in any way.
func TestWhatIsNotSaidIsNotTrue(t *testing.T) {
	t.Parallel()
	s := Of(Objects{Cluster: object(t, "{kind: Cluster, metadata: {name: shop}}")})
	if s.Infrastructure || s.ControlPlane || s.Available || !s.Exists || s.Master.Exists || s.Master.Settled || s.Health != nil {
		t.Errorf("%+v", s)
	}
	o := ready(t)
	unstructured.RemoveNestedField(o.Machines[1].Object, "status", "conditions")
	if s := Of(o); s.Healthy || s.Health["node-w1.Ready"] != "False" || !s.Master.Exists {
		t.Errorf("a node that says nothing: %v", s.Health)
	}
}

// TestControlPlanesThatAreNotAvailable tell why in the first words that there are, else that they are
// not.
func TestControlPlanesThatAreNotAvailable(t *testing.T) {
	t.Parallel()
	for conditions, want := range map[string]string{
		`[{type: ControlPlaneAvailable, status: "False", message: "no quorum"}, {type: ControlPlaneReady, status: "False", message: old}]`: "no quorum",
		`[{type: ControlPlaneAvailable, status: "False"}, {type: ControlPlaneReady, status: "False", message: "older words"}]`:             "older words",
		`[{type: ControlPlaneAvailable, status: "False"}]`:                                                                                 "nok",
	} {
		cluster := object(t, "{kind: Cluster, status: {conditions: "+conditions+"}}")
		list, _, _ := unstructured.NestedSlice(cluster.Object, "status", "conditions")
		set(t, cluster, append(list, map[string]any{"type": "ControlPlaneInitialized", "status": "True"}), "status", "conditions")
		if s := Of(Objects{Cluster: cluster}); s.Healthy || !s.Reachable || s.Health["api"] != want {
			t.Errorf("%s: %v, want %q", conditions, s.Health, want)
		}
	}
}

// TestSeen: a controller that says nothing has seen what never changed.
func TestSeen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		generation int64
		observed   any
		want       bool
	}{
		"the present one": {2, int64(2), true}, "an older one": {2, int64(1), false}, "none, of one": {1, int64(0), false}, "nothing, of one": {1, nil, true}, "nothing, of two": {2, nil, false},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{}}}
		if o.SetGeneration(test.generation); test.observed != nil {
			set(t, o, test.observed, "status", "observedGeneration")
		}
		if got := seen(o); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestVersionsAndRuntimes are the control plane's: what runs, and before that what is wanted.
func TestVersionsAndRuntimes(t *testing.T) {
	t.Parallel()
	o := ready(t)
	set(t, o.ControlPlane, "v1.33.9", "status", "version")
	set(t, o.Machines[1], "cri-o://9", "status", "nodeInfo", "containerRuntimeVersion")
	if s := Of(o); s.Version != "v1.33.9" || s.Runtime != "2.1.5" {
		t.Errorf("%s with %s", s.Version, s.Runtime)
	}
	unstructured.RemoveNestedField(o.ControlPlane.Object, "status", "version")
	late := o.Machines[0].DeepCopy()
	unstructured.RemoveNestedField(late.Object, "status", "nodeInfo")
	o.Machines = append(o.Machines, late)
	if s := Of(o); s.Version != "v1.34.2" || s.Runtime != "2.1.5" {
		t.Errorf("before it runs: %s with %s", s.Version, s.Runtime)
	}
}

// TestAddonsThatWaitForWorkers say so, and are not ready.
func TestAddonsThatWaitForWorkers(t *testing.T) {
	t.Parallel()
	for conditions, want := range map[string]bool{
		`[]`: false, `[{type: Ready, status: "False", reason: WaitingForWorkers}]`: true, `[{type: Ready, status: "True", reason: WaitingForWorkers}]`: false,
		`[{type: Ready, status: "False", reason: Installing}]`: false, `[{type: Other, status: "False", reason: WaitingForWorkers}]`: false,
	} {
		if got := waitsForWorkers(object(t, "{kind: HelmRelease, status: {conditions: "+conditions+"}}")); got != want {
			t.Errorf("%s: %t", conditions, got)
		}
	}
}

// TestMachinesOfGroups are known by any of their labels; one that goes has no address to use.
func TestMachinesOfGroups(t *testing.T) {
	t.Parallel()
	o := ready(t)
	machine := func(name, labels, addresses string) *unstructured.Unstructured {
		return object(t, "{kind: Machine, metadata: {name: "+name+", labels: {"+labels+"}}, status: {addresses: ["+addresses+"]}}")
	}
	going := machine("m4", `capi.stackhpc.com/component: control-plane`, "{type: InternalIP, address: 10.0.0.14}")
	going.SetDeletionTimestamp(&metav1.Time{Time: metav1.Now().Time})
	o.Machines = append(o.Machines, machine("m2", `capi.stackhpc.com/component: control-plane`, "{type: InternalIP, address: 10.0.0.12}"),
		machine("m3", `cluster.x-k8s.io/control-plane: ""`, "{type: ExternalIP, address: 203.0.113.3}"), going,
		machine("w2", "capi.stackhpc.com/node-group: default-worker", ""), machine("x", "a: b", "{type: InternalIP, address: 10.0.0.99}"))
	s := Of(o)
	if want := []string{"10.0.0.11", "10.0.0.12", "203.0.113.3"}; !slices.Equal(s.Master.Addresses, want) || s.Master.Machines != 4 {
		t.Errorf("%d machines at %v, want 4 at %v", s.Master.Machines, s.Master.Addresses, want)
	}
	if g := s.Workers["default-worker"]; !slices.Equal(g.Addresses, []string{"10.0.0.21"}) || g.Machines != 2 {
		t.Errorf("%d workers at %v", g.Machines, g.Addresses)
	}
	if diff := cmp.Diff([]string{"default-worker"}, slices.Collect(maps.Keys(s.Workers))); diff != "" {
		t.Error(diff)
	}
	if _, told := s.Health["m4.Ready"]; told {
		t.Errorf("the health of a machine that goes: %v", s.Health)
	}
}
