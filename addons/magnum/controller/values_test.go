package controller

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// Only for a name that is wanted is a failure of the cloud a failure of the cluster.
func TestNamesAreWantedIfThereIsOne(t *testing.T) {
	t.Parallel()
	if (Names{}).any() {
		t.Error("no name is wanted")
	}
	for _, want := range []Names{{Image: "x"}, {ExternalNetwork: "x"}, {FixedNetwork: "x"}, {FixedSubnet: "x"}, {Images: []string{"x"}}} {
		if !want.any() {
			t.Errorf("%+v wants nothing", want)
		}
	}
}

// A rollback never asks for a size that the API server refuses.
func TestSizesWithinTheBoundsOfTheirGroup(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		least int32
		most  *int32
		size  int32
		want  bool
	}{
		{1, nil, 0, false}, {1, nil, 1, true}, {1, nil, 99, true}, {1, ptr.To[int32](0), 99, true},
		{1, ptr.To[int32](3), 3, true}, {1, ptr.To[int32](3), 4, false}, {2, ptr.To[int32](3), 1, false},
	} {
		g := &v1alpha1.NodeGroup{Spec: v1alpha1.NodeGroupSpec{MinNodeCount: test.least, MaxNodeCount: test.most}}
		if got := bounded(g, test.size); got != test.want {
			t.Errorf("%d of %d to %v: %v", test.size, test.least, test.most, got)
		}
	}
}

// Machines of the control plane are of the masters' group, whatever other labels they have.
func TestMachinesOfAGroup(t *testing.T) {
	t.Parallel()
	const plane = "cluster.x-k8s.io/control-plane"
	master := &v1alpha1.NodeGroup{ObjectMeta: metav1.ObjectMeta{Name: "masters"}, Spec: v1alpha1.NodeGroupSpec{Role: v1alpha1.RoleMaster}}
	workers := &v1alpha1.NodeGroup{ObjectMeta: metav1.ObjectMeta{Name: "workers"}, Spec: v1alpha1.NodeGroupSpec{Role: "worker", Identity: v1alpha1.Identity{Name: "default-worker"}}}
	for _, test := range []struct {
		labels         map[string]string
		master, worker bool
	}{
		{map[string]string{plane: ""}, true, false},
		{map[string]string{plane: "", "cluster.x-k8s.io/deployment-name": "workers"}, true, false},
		{map[string]string{"cluster.x-k8s.io/deployment-name": "workers"}, false, true},
		{map[string]string{"cluster.x-k8s.io/deployment-name": "masters"}, false, false},
		{map[string]string{observe.LabelGroup: "default-worker"}, false, true},
		{map[string]string{observe.LabelGroup: "other"}, false, false},
	} {
		machine := &unstructured.Unstructured{}
		machine.SetLabels(test.labels)
		if m, w := ofThe(master, machine), ofThe(workers, machine); m != test.master || w != test.worker {
			t.Errorf("%v: master %v, worker %v", test.labels, m, w)
		}
	}
}

// Of a deletion, only what Cluster API says of it while it lasts is a cause.
func TestCausesOfADeletion(t *testing.T) {
	t.Parallel()
	if got := deletionCauses(observe.Objects{}); got != nil {
		t.Errorf("without a Cluster: %v", got)
	}
	for _, test := range []struct {
		kind, status, message string
		want                  int
	}{{"Deleting", "True", "a machine is left", 1}, {"Deleting", "True", "", 0}, {"Deleting", "False", "x", 0}, {"Available", "True", "x", 0}} {
		o := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
			"no condition", map[string]any{"type": test.kind, "status": test.status, "message": test.message}}}}}
		o.SetName("shop")
		got := deletionCauses(observe.Objects{Cluster: o})
		if len(got) != test.want || test.want == 1 && (got[0].Object != "Cluster shop" || got[0].Message != test.message) {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// What the operator chose stays; the rest has defaults.
func TestOptionsHaveDefaults(t *testing.T) {
	t.Parallel()
	if o := (Options{}).defaults(); o.Patience != 5*time.Minute || o.Overlap != 10*time.Minute || o.Concurrency != 8 || o.Now == nil {
		t.Errorf("%+v", o)
	}
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	o := Options{Patience: time.Second, Overlap: time.Hour, Concurrency: 2, Now: func() time.Time { return day }}.defaults()
	if o.Patience != time.Second || o.Overlap != time.Hour || o.Concurrency != 2 || !o.Now().Equal(day) {
		t.Errorf("%+v", o)
	}
	if _, err := (Options{}).complete(nil); err == nil {
		t.Error("controllers without a chart start")
	}
}

// The controllers' own statuses do not wake them; everything that another writes does.
func TestOwnStatusesAreNoNews(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	for name, test := range map[string]struct {
		change func(*v1alpha1.Cluster)
		want   bool
	}{
		"a status":     {func(c *v1alpha1.Cluster) { c.Status.StatusReason, c.ResourceVersion = "x", "2" }, false},
		"a generation": {func(c *v1alpha1.Cluster) { c.Generation = 2 }, true},
		"a label":      {func(c *v1alpha1.Cluster) { c.Labels = map[string]string{"a": "b"} }, true},
		"a deletion":   {func(c *v1alpha1.Cluster) { c.DeletionTimestamp = &now }, true},
		"a finalizer":  {func(c *v1alpha1.Cluster) { c.Finalizers = []string{"x"} }, true},
	} {
		old := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Generation: 1, ResourceVersion: "1"}}
		changed := old.DeepCopy()
		test.change(changed)
		if got := specChanged().Update(event.UpdateEvent{ObjectOld: old, ObjectNew: changed}); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A template wakes the clusters that have no copy of it yet.
func TestATemplateWakesThoseThatWaitForIt(t *testing.T) {
	t.Parallel()
	h := start(t)
	own := []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: namespace, Name: stack}}}
	wakes := func(name string, want []reconcile.Request) {
		t.Helper()
		if got := h.r.ofTemplate(t.Context(), template(name)); len(got) != len(want) || len(want) == 1 && got[0] != want[0] {
			t.Errorf("%s wakes %v, want %v", name, got, want)
		}
	}
	wakes("t34", own)
	wakes("t35", nil)
	c := h.cluster()
	c.Spec.Template = &v1alpha1.TemplateSnapshot{UUID: template("t35").UUID()}
	if err := h.client.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	wakes("t34", own)
	c.Spec.Template.UUID = template("t34").UUID()
	if err := h.client.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	wakes("t34", nil)
}

// Objects of Cluster API and of addons wake the cluster whose stack they name by label, or by name.
func TestObjectsWakeTheClusterOfTheirStack(t *testing.T) {
	t.Parallel()
	h := start(t)
	for _, test := range []struct {
		name   string
		labels map[string]string
		want   int
	}{
		{stack, nil, 1}, {"other", nil, 0},
		{"other", map[string]string{observe.LabelStack: stack}, 1},
		{"other", map[string]string{v1alpha1.LabelStack: stack}, 1},
		{"other", map[string]string{"addons.stackhpc.com/cluster": stack}, 1},
		{stack, map[string]string{observe.LabelStack: "other", "addons.stackhpc.com/cluster": stack}, 0},
	} {
		o := &unstructured.Unstructured{}
		o.SetNamespace(namespace)
		o.SetName(test.name)
		o.SetLabels(test.labels)
		if got := h.r.ofStack(t.Context(), o); len(got) != test.want || test.want == 1 && got[0].Name != stack {
			t.Errorf("%s %v wakes %v", test.name, test.labels, got)
		}
	}
}

// refusing is a registry that takes nothing.
type refusing struct {
	prometheus.Registerer
	err error
}

func (r refusing) Register(prometheus.Collector) error { return r.err }

// A second set of controllers in a process finds its metrics registered: that is no fault.
func TestMetricsMayBeRegisteredAlready(t *testing.T) {
	t.Parallel()
	for _, fine := range []error{nil, prometheus.AlreadyRegisteredError{}} {
		if err := (&causes{}).register(refusing{err: fine}); err != nil {
			t.Errorf("%v: %v", fine, err)
		}
	}
	if err := (&causes{}).register(refusing{err: errors.New("no")}); err == nil {
		t.Error("a metric that cannot be registered is no fault")
	}
}
