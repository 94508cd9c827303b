package recovery_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/recoverytest"
)

// restored is a graph, its plan, and what a restore would have made of it.
type restored struct {
	*recoverytest.Graph
	plan *recovery.Plan
	live []*unstructured.Unstructured
}

// restoreIn does without an API server what package restore does with one.
func restoreIn(t *testing.T, g *recoverytest.Graph, scope recovery.Scope) *restored {
	t.Helper()
	plan, err := recovery.NewPlan(g.Snapshot, scope)
	if err != nil {
		t.Fatal(err)
	}
	r := &restored{g, plan, nil}
	uids := recovery.UIDs{}
	for _, step := range plan.Steps {
		for _, o := range step {
			live := recovery.Prepare(o, uids)
			uids[o.GetUID()] = types.UID(fmt.Sprintf("new-%d", len(r.live)))
			live.SetUID(uids[o.GetUID()])
			live.SetGeneration(1)
			r.live = append(r.live, live)
		}
	}
	n := 0
	for _, step := range plan.Steps {
		for _, o := range step {
			if status, ok := recovery.Status(o, r.live[n], uids); ok {
				r.live[n].Object["status"] = status
			}
			n++
		}
	}
	return r
}

// evidence is the cloud as it was, and the same controllers, ten minutes later.
func (r *restored) evidence() recovery.Evidence {
	cloud := recovery.Cloud{Inventory: r.Snapshot.Cloud, Networks: r.Networks, Routers: r.Routers, SecurityGroups: r.SecurityGroups,
		Projects: map[string]string{}, Unread: map[string]string{}}
	for _, name := range r.plan.Clusters() {
		cloud.Projects[name] = recoverytest.Project
	}
	return recovery.Evidence{Snapshot: r.Snapshot, Plan: r.plan, Live: r.live, Cloud: cloud, Controllers: maps.Clone(r.Snapshot.Controllers), Now: recoverytest.Taken().Add(10 * time.Minute)}
}

// get is the live object of a kind and name.
func (r *restored) get(t *testing.T, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, o := range r.live {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	t.Fatalf("no %s %s", kind, name)
	return nil
}

func set(t *testing.T, o *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}
