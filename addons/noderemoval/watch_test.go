package noderemoval

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/util/workqueue"
)

// TestMachinesThatAreDeletedAreLookedAt: one that is being deleted, one that is deleted later, and
// none that stays.
func TestMachinesThatAreDeletedAreLookedAt(t *testing.T) {
	t.Parallel()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	at := metav1.Now()
	machine := func(name string, deleted *metav1.Time) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name, DeletionTimestamp: deleted}}
	}
	client := metadatafake.NewSimpleMetadataClient(scheme, machine("leaving", &at), machine("stays", nil), machine("later", nil))
	s := newSite(t, nil)
	s.metadata = client
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]())
	defer queue.ShutDown()
	if err := s.start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	next := func(want string) {
		t.Helper()
		if got, ended := queue.Get(); ended || got.Name != want {
			t.Errorf("looked at %q, want %q", got.Name, want)
		}
	}
	next("") // the kind
	for range 2 {
		if _, err := s.Reconcile(t.Context(), types.NamespacedName{}); err != nil {
			t.Fatal(err)
		}
	}
	next("leaving")
	machines := schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "machines"}
	if err := client.Tracker().Update(machines, machine("later", &at), "clusters"); err != nil {
		t.Fatal(err)
	}
	next("later")
	if queue.Len() > 0 {
		t.Errorf("%d more are looked at", queue.Len())
	}
}
