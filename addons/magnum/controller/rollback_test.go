package controller

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// failedResize is a cluster that rolls back, whose workers cannot be as many as asked for.
func failedResize(t *testing.T, change func(*v1alpha1.NodeGroup)) *harness {
	t.Helper()
	h := ready(t, func(c *v1alpha1.Cluster) { c.Spec.Rollback = true })
	h.editGroup("default-worker", change)
	h.pass()
	d := h.object(deployment(), stack+"-default-worker")
	d.Object["status"].(map[string]any)["phase"] = "Failed"
	h.update(d)
	return h
}

// TestInterruptedRollback: whichever write is lost, the size goes back, and the cluster does not say
// that it was updated.
func TestInterruptedRollback(t *testing.T) {
	t.Parallel()
	for name, lostSize := range map[string]bool{"the size": true, "that it is seen": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := failedResize(t, func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 9 })
			killed, statuses := errors.New("killed"), 0
			h.intercept(interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
					if _, ok := o.(*v1alpha1.NodeGroup); ok && lostSize {
						return killed
					}
					if err := c.Patch(ctx, o, patch, opts...); err != nil {
						return err
					}
					o.SetGeneration(o.GetGeneration() + 1) // as an API server does
					return c.Update(ctx, o)
				},
				SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
					if _, ok := o.(*v1alpha1.NodeGroup); ok {
						statuses++
					}
					if statuses > 1 {
						return killed
					}
					return c.SubResource(sub).Patch(ctx, o, patch, opts...)
				},
			})
			if _, err := h.reconcile(); !errors.Is(err, killed) {
				t.Fatal(err)
			}
			h.restart()
			for range 2 {
				h.pass()
				h.phases(v1alpha1.RollbackInProgress, "default-worker", "ROLLBACK_IN_PROGRESS")
			}
			if g := h.group("default-worker"); g.Spec.NodeCount != 1 || h.replicas("default-worker") != 1 {
				t.Errorf("size %d, %d machines", g.Spec.NodeCount, h.replicas("default-worker"))
			}
			h.settle()
			h.pass()
			h.phases(v1alpha1.RollbackComplete, "default-worker", "ROLLBACK_COMPLETE")
		})
	}
}

// TestRollbackOutOfBounds: the API server refuses a size that is out of the group's bounds, which
// were changed while it was resized. The resize has failed then, and says so.
func TestRollbackOutOfBounds(t *testing.T) {
	t.Parallel()
	h := failedResize(t, func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount, g.Spec.MinNodeCount = 9, 2 })
	h.pass()
	h.phases(v1alpha1.UpdateFailed, "default-worker", "UPDATE_FAILED")
	if g := h.group("default-worker"); g.Spec.NodeCount != 9 {
		t.Errorf("size %d", g.Spec.NodeCount)
	}
}

// TestARollbackThatFails ends: in progress the cluster would take no other change. What comes right
// after all is complete.
func TestARollbackThatFails(t *testing.T) {
	t.Parallel()
	h := failedResize(t, func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 9 })
	h.pass()
	h.pass()
	h.phases(v1alpha1.RollbackInProgress, "default-worker", "ROLLBACK_IN_PROGRESS") // what failed has not gone yet
	d := h.object(deployment(), stack+"-default-worker")
	d.Object["status"] = map[string]any{"phase": "Failed", "observedGeneration": d.GetGeneration(), "replicas": int64(1),
		"conditions": []any{map[string]any{"type": "Available", "status": "False", "message": "no valid host"}}}
	h.update(d)
	for range 3 {
		h.pass()
		h.phases(v1alpha1.RollbackFailed, "default-worker", "ROLLBACK_FAILED")
		reason := h.cluster().Status.StatusReason
		if strings.Count(reason, "from 9 nodes to 1") != 1 || strings.Count(reason, "the rollback failed") != 1 {
			t.Errorf("reason %q", reason)
		}
	}
	h.settle()
	h.pass()
	h.phases(v1alpha1.RollbackComplete, "default-worker", "ROLLBACK_COMPLETE")
	if reason := h.group("default-worker").Status.StatusReason; strings.Contains(reason, "the rollback failed") {
		t.Errorf("reason %q", reason)
	}
	h.editGroup("default-worker", func(g *v1alpha1.NodeGroup) { g.Spec.NodeCount = 2 })
	h.pass()
	h.phases(v1alpha1.UpdateInProgress, "default-worker", "UPDATE_IN_PROGRESS")
}
