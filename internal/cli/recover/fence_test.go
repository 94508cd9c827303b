package recover

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
)

// TestNoBackupOfAClusterThatIsBeingRebuilt, from its first moment to its last. The management
// cluster of the backup itself is none, and keeps its backups.
func TestNoBackupOfAClusterThatIsBeingRebuilt(t *testing.T) {
	t.Parallel()
	former := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "kube-system", "uid": "old"}}}
	for name, test := range map[string]struct {
		uid  types.UID
		want bool
	}{"a new one": {"new", true}, "that of the backup": {"old", false}} {
		on := &kube.Cluster{Typed: fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: test.uid}})}
		r := &rebuild{result: result{Backup: "b"}, snapshot: &snapshot.Snapshot{Objects: []*unstructured.Unstructured{former}}}
		for range 2 { // up tells of it, and then the run itself
			if err := r.begin(t.Context(), on); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := restore.Complete(t.Context(), on.Typed); errors.Is(err, restore.ErrIncomplete) != test.want || err != nil && !test.want {
			t.Errorf("%s, in the middle: %v", name, err)
		}
		if from, err := restore.Begun(t.Context(), on); err != nil || (from == "b") != test.want {
			t.Errorf("%s: the backup is %q, %v", name, from, err)
		}
		if err := errors.Join(restore.End(t.Context(), on), restore.Complete(t.Context(), on.Typed)); err != nil {
			t.Errorf("%s, at its end: %v", name, err)
		}
	}
}
