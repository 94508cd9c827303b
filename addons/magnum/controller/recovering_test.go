package controller

import (
	"testing"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/recovery"
)

// recovering marks Cluster API's cluster as recovery does, or takes the mark away.
func (h *harness) recovering(held bool) {
	h.t.Helper()
	o := h.object(capiCluster(), stack)
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, v1alpha1.AnnotationRecovering)
	if held {
		annotations[v1alpha1.AnnotationRecovering] = "{}"
	}
	o.SetAnnotations(annotations)
	h.update(o)
}

// TestNothingIsWrittenWhileRecoveryHoldsACluster: an upgrade, another size and even a deletion
// wait for the proofs, also of a controller that has just started. Then they are made.
func TestNothingIsWrittenWhileRecoveryHoldsACluster(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.recovering(true)
	h.releases.ensured = 0
	h.restart()
	h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 4 })
	h.edit(func(c *v1alpha1.Cluster) { c.Spec.Labels = map[string]string{"kube_dashboard_enabled": "false"} })
	before, sized := h.cluster(), h.replicas("default-worker")
	for range 3 {
		if again := h.pass().RequeueAfter; again != recoveringPause {
			t.Errorf("looked at again after %s", again)
		}
	}
	if after := h.cluster(); after.ResourceVersion != before.ResourceVersion || h.releases.ensured != 0 || h.replicas("default-worker") != sized {
		t.Errorf("%d releases, %d workers, status %s", h.releases.ensured, h.replicas("default-worker"), after.Status.Phase)
	}
	h.recovering(false)
	h.pass()
	if n := h.replicas("default-worker"); n != 4 && h.releases.ensured == 0 {
		t.Errorf("released, %d workers and %d releases", n, h.releases.ensured)
	}
}

// TestADeletionWaitsForRecovery: the release of a cluster that is held is not uninstalled.
func TestADeletionWaitsForRecovery(t *testing.T) {
	t.Parallel()
	h := ready(t)
	h.recovering(true)
	if err := h.client.Delete(t.Context(), h.cluster()); err != nil {
		t.Fatal(err)
	}
	h.pass()
	if o := h.object(capiCluster(), stack); o.GetDeletionTimestamp() != nil || h.releases.last == nil {
		t.Fatal("a cluster that is held is deleted")
	}
	h.recovering(false)
	h.pass()
	if h.releases.last != nil {
		t.Error("released, the deletion does not go on")
	}
}

// TestTheMarkIsThatOfRecovery: both packages name it, because neither needs the other.
func TestTheMarkIsThatOfRecovery(t *testing.T) {
	t.Parallel()
	if v1alpha1.AnnotationRecovering != recovery.AnnotationHeld {
		t.Errorf("%s is not %s", v1alpha1.AnnotationRecovering, recovery.AnnotationHeld)
	}
}
