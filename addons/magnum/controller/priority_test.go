package controller

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// TestNewsComesFirst hands out the cluster whose machine changed before those that somebody
// creates or changes, and last those that are there when the controllers start.
func TestNewsComesFirst(t *testing.T) {
	t.Parallel()
	q := priorityqueue.New[reconcile.Request](t.Name())
	t.Cleanup(q.ShutDown)
	named := func(name string) client.Object {
		c := &v1alpha1.Cluster{}
		c.Name, c.ResourceVersion = name, "1"
		return c
	}
	newer := named("changed")
	newer.SetResourceVersion("2")
	news, wishes := &handler.EnqueueRequestForObject{}, asRequests(&handler.EnqueueRequestForObject{})
	wishes.Create(t.Context(), event.CreateEvent{Object: named("known"), IsInInitialList: true}, q)
	wishes.Create(t.Context(), event.CreateEvent{Object: named("new")}, q)
	wishes.Update(t.Context(), event.UpdateEvent{ObjectOld: named("changed"), ObjectNew: newer}, q)
	wishes.Delete(t.Context(), event.DeleteEvent{Object: named("gone")}, q)
	wishes.Generic(t.Context(), event.GenericEvent{Object: named("other")}, q)
	news.Create(t.Context(), event.CreateEvent{Object: named("ill")}, q)
	news.Create(t.Context(), event.CreateEvent{Object: named("gone")}, q)
	for _, want := range []struct {
		name     string
		priority int
	}{{"gone", 0}, {"ill", 0}, {"new", -1}, {"changed", -1}, {"other", -1}, {"known", handler.LowPriority}} {
		got, priority, _ := q.GetWithPriority()
		if got.NamespacedName != (types.NamespacedName{Name: want.name}) || priority != want.priority {
			t.Errorf("got %s with priority %d, want %s with %d", got, priority, want.name, want.priority)
		}
		q.Done(got)
	}
}

// ordered says that the controller's queue has the priorities, by what it tells Prometheus.
func (m *management) ordered(t *testing.T) {
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	priorities := map[string]bool{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if family.GetName() == "workqueue_depth" && labels["name"] == "magnum" {
				priorities[labels["priority"]] = true
			}
		}
	}
	if got := strings.Join(slices.Sorted(maps.Keys(priorities)), " "); got != "-1 0" && got != "-1 -100 0" {
		t.Errorf("the queue has the priorities %s", got)
	}
}
