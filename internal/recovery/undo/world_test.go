package undo

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-sh/slipway/internal/kube"
)

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"a": "b"}}
}

func create() metav1.CreateOptions { return metav1.CreateOptions{FieldManager: "cert-manager"} }
func get() metav1.GetOptions       { return metav1.GetOptions{} }
func list_() metav1.ListOptions    { return metav1.ListOptions{} }

func boats() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "boats"}
}

// boat makes a tenant's object.
func boat(t *testing.T, on *kube.Cluster, name string) {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.org/v1", "kind": "Boat", "metadata": map[string]any{"name": name}, "spec": map[string]any{"sails": int64(2)}}}
	var err error
	for range 100 { // the definition is served a moment later
		if _, err = on.Dynamic.Resource(boats()).Namespace("default").Create(t.Context(), o, metav1.CreateOptions{}); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal(err)
}

// elsewhere are objects outside of the namespaces of controllers that stay as they are:
// leases of leaders, which are the same in all versions.
func elsewhere() []string {
	return []string{"Role kube-system", "RoleBinding kube-system"}
}

// recorded: a point is what was written, and whether it can be gone back to.
func recorded(t *testing.T, on *kube.Cluster) {
	if p, err := ReadPoint(t.Context(), on); err != nil || p != nil {
		t.Errorf("before: %v, %v", p, err)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, p := range []Point{{Backup: "one", Taken: now, Until: now.Add(time.Hour)}, {Backup: "two", Busy: []string{"a/a"}, Undoing: now}} {
		if err := WritePoint(t.Context(), on, p); err != nil {
			t.Fatal(err)
		}
		got, err := ReadPoint(t.Context(), on)
		if err != nil || got.Backup != p.Backup || !got.Undoing.Equal(p.Undoing) || len(got.Busy) != len(p.Busy) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// TestPoints: which change can be undone, and which is not complete.
func TestPoints(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	whole := Point{Backup: "b", Taken: now.Add(-time.Hour), Until: now.Add(time.Hour), Complete: now}
	late, begun, undone, half := whole, whole, whole, whole
	late.Until = now.Add(-time.Minute)
	begun.Until, begun.Undoing = late.Until, now
	undone.Undoing, undone.Undone = now, now
	half.Complete = time.Time{}
	for name, test := range map[string]struct {
		p            *Point
		refused, end bool
	}{
		"no change":             {nil, true, true},
		"without a backup":      {&Point{Complete: now}, true, true},
		"in the window":         {&whole, false, true},
		"after it":              {&late, true, true},
		"begun in the window":   {&begun, false, false},
		"undone":                {&undone, false, true},
		"up did not come there": {&half, false, false},
	} {
		if err := test.p.Check(now); (err != nil) != test.refused || test.p.Open() == test.end {
			t.Errorf("%s: %v, open %v", name, err, test.p.Open())
		}
	}
}
