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
	"github.com/slipway-sh/slipway/internal/recovery"
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

// TestARebuildThatUpHasFinishedIsNotContinued: nothing waits for it, and its backup may have been
// pruned. One that has not restored everything is.
func TestARebuildThatUpHasFinishedIsNotContinued(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		data map[string]string
		want string
	}{
		"none":          {map[string]string{"generation": "1", "restored": "b"}, ""},
		"half restored": {map[string]string{"begun": "2026-03-01T04:00:00Z b", "generation": "1"}, "b"},
		"restored":      {map[string]string{"begun": "2026-03-01T04:00:00Z b", "generation": "1", "restored": "b"}, ""},
		"a second one":  {map[string]string{"begun": "2026-03-01T04:00:00Z c", "generation": "2", "restored": "b"}, "c"},
	} {
		on := &kube.Cluster{Typed: fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "slipway-recovery"}, Data: test.data})}
		r := &rebuild{plan: &recovery.Plan{}} // nothing that could be held
		half, err := r.half(t.Context(), on)
		if err != nil || half != (test.want != "") || r.halfway != test.want {
			t.Errorf("%s: %t, %q, %v", name, half, r.halfway, err)
		}
	}
}
