package janitor

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ConditionType is the condition that the janitor keeps on a deleted
// OpenStackCluster, in the form of Cluster API's v1beta1 conditions.
const ConditionType = "OpenStackResourcesCleaned"

// The reasons of the condition; all but ReasonCleaned have status False.
const (
	ReasonCleaned            = "Cleaned"
	ReasonDeleting           = "Deleting"
	ReasonDryRun             = "DryRun"
	ReasonPaused             = "Paused"
	ReasonClusterNotDeleted  = "ClusterNotDeleted"
	ReasonMachinesNotDeleted = "MachinesNotDeleted"
	ReasonCredentialMissing  = "CredentialMissing"
	ReasonCloudUnreachable   = "CloudUnreachable"
	ReasonCleanupFailed      = "CleanupFailed"
	ReasonNameConflict       = "NameConflict"
)

// The reasons of events besides those of the condition.
const (
	EventSucceeded      = "CleanupSucceeded"
	EventReleased       = "Released"
	EventNothing        = "NothingToClean"
	EventCredentialKept = "CredentialKept"
)

// severity is how bad a reason is, in Cluster API's words.
func severity(reason string) string {
	switch reason {
	case ReasonDeleting, ReasonDryRun, ReasonPaused, ReasonMachinesNotDeleted:
		return "Info"
	case ReasonCredentialMissing, ReasonNameConflict, ReasonClusterNotDeleted:
		return "Error"
	}
	return "Warning"
}

// tell writes the condition when it changed, and an event with it. Progress is no event: only a
// change of the reason is.
func (r *reconciler) tell(ctx context.Context, t target, reason, message string) error {
	was := conditionOf(t.object)
	if was["reason"] == reason && was["message"] == message {
		return nil
	}
	if severity(reason) != "Info" && reason != ReasonCleaned {
		r.events.Event(t.object, corev1.EventTypeWarning, reason, message)
	}
	before := t.object.DeepCopy()
	condition := map[string]any{"type": ConditionType, "status": "False", "severity": severity(reason), "reason": reason, "message": message}
	if reason == ReasonCleaned {
		condition["status"] = "True"
		delete(condition, "severity")
	}
	condition["lastTransitionTime"] = was["lastTransitionTime"]
	if was["status"] != condition["status"] {
		condition["lastTransitionTime"] = r.now().UTC().Format(time.RFC3339)
	}
	setCondition(t.object, condition)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, t.object, patch); err != nil {
		return fmt.Errorf("writing the condition: %w", err)
	}
	return nil
}

func conditionOf(object *unstructured.Unstructured) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range conditions {
		if condition, ok := one.(map[string]any); ok && condition["type"] == ConditionType {
			return condition
		}
	}
	return map[string]any{}
}

// setCondition replaces the condition of that type and leaves the others.
func setCondition(object *unstructured.Unstructured, condition map[string]any) {
	all, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for i, one := range all {
		if other, ok := one.(map[string]any); ok && other["type"] == ConditionType {
			all[i] = condition
			_ = unstructured.SetNestedSlice(object.Object, all, "status", "conditions") // status is a map: it was just read
			return
		}
	}
	_ = unstructured.SetNestedSlice(object.Object, append(all, condition), "status", "conditions")
}

// cleaned reports whether an earlier attempt found nothing left.
func cleaned(t target) bool { return conditionOf(t.object)["status"] == "True" }
