package restore

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
	"github.com/slipway-sh/slipway/internal/recovery/recoverytest"
	"github.com/slipway-sh/slipway/internal/vain"
)

// says is what a controller of Cluster API writes when it has looked at an object.
func says(t *testing.T, on *kube.Cluster, o *unstructured.Unstructured, paused string) {
	t.Helper()
	client, err := on.Resource(o)
	if err != nil {
		t.Fatal(err)
	}
	live, err := client.Get(t.Context(), o.GetName(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	conditions = append(conditions, map[string]any{"type": "Paused", "status": paused, "reason": "R", "message": "", "lastTransitionTime": "2026-03-01T04:00:00Z"})
	if err := unstructured.SetNestedSlice(live.Object, conditions, "status", "conditions"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.UpdateStatus(t.Context(), live, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// sighted follows what controllers say of a cluster that was restored: the backup has what
// the former ones had said, which counts for nothing.
func sighted(t *testing.T, config *rest.Config) {
	on := cluster(t, config, nil)
	g := recoverytest.New("s", "u")
	if err := unstructured.SetNestedField(g.Find("Cluster", "u").Object, true, "spec", "paused"); err != nil {
		t.Fatal(err)
	}
	p := plan(t, g)
	if _, err := (Restorer{To: on}).Run(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	sight := NewSight(on, p)
	waits := func(cluster, what string) {
		t.Helper()
		settled, waiting, err := sight.Settled(t.Context(), cluster)
		if err != nil || settled != (what == "") || !strings.Contains(waiting, what) {
			t.Errorf("settled: %v, waiting for %q, %v; want %q", settled, waiting, err, what)
		}
	}
	waits("s/s", "Cluster s/s is held")
	for _, name := range []string{"s", "u"} {
		if err := Release(t.Context(), on, find(t, p, "Cluster", name)); err != nil {
			t.Fatal(err)
		}
	}
	waits("u/u", "") // its operator paused it before the backup
	waits("s/s", "has not seen that Cluster s/s is unpaused")
	says(t, on, find(t, p, "Cluster", "s"), "False")
	waits("s/s", "has not seen that Machine s/s-cp-1 is unpaused")
	says(t, on, find(t, p, "Machine", "s-cp-1"), "False")
	// One that its operator pauses says so, and one that is gone says nothing.
	says(t, on, find(t, p, "Machine", "s-md-1"), "True")
	waits("s/s", "has not seen that Machine s/s-md-1 is unpaused")
	patch(t, on, find(t, p, "Machine", "s-md-1"), `{"metadata":{"annotations":{"cluster.x-k8s.io/paused":""}}}`)
	waits("s/s", "has not seen that Machine s/s-md-2 is unpaused")
	remove(t, on, find(t, p, "Machine", "s-md-2"))
	waits("s/s", "")
	sight = NewSight(on, p)
	remove(t, on, find(t, p, "Cluster", "u"))
	if _, _, err := sight.Settled(t.Context(), "u/u"); !vain.Refused(err) {
		t.Errorf("a Cluster that is gone: %v", err)
	}
	wipe(t, on, p, "s", "u")
}

func find(t *testing.T, p *recovery.Plan, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, step := range p.Steps {
		for _, o := range step {
			if o.GetKind() == kind && o.GetName() == name && strings.HasPrefix(o.GetAPIVersion(), "cluster.x-k8s.io/") {
				return o
			}
		}
	}
	t.Fatalf("no %s %s", kind, name)
	return nil
}

func patch(t *testing.T, on *kube.Cluster, o *unstructured.Unstructured, text string) {
	t.Helper()
	client, err := on.Resource(o)
	if err == nil {
		_, err = client.Patch(t.Context(), o.GetName(), "application/merge-patch+json", []byte(text), metav1.PatchOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// remove deletes an object at once.
func remove(t *testing.T, on *kube.Cluster, o *unstructured.Unstructured) {
	t.Helper()
	patch(t, on, o, `{"metadata":{"finalizers":null}}`)
	client, err := on.Resource(o)
	if err == nil {
		err = client.Delete(t.Context(), o.GetName(), metav1.DeleteOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}
