package noderemoval

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// machine is what counts of a Machine.
type machine struct {
	cluster types.NamespacedName
	node    string
	// leaving says that it is being deleted, that its server is still there, and that its node
	// may be in load balancers.
	leaving bool
	// drained says that pods were evicted from its node.
	drained bool
	// held says that it has HookAnnotation; left is when its node left load balancers, if it did.
	held bool
	left time.Time
}

// machineOf reads a Machine of either contract of Cluster API. Nodes of control planes are in no
// load balancer of a Service: kubeadm excludes them.
func machineOf(object *unstructured.Unstructured) machine {
	m := machine{cluster: types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetLabels()[clusterv1.ClusterNameLabel]}}
	m.node, _, _ = unstructured.NestedString(object.Object, "status", "nodeRef", "name")
	_, controlPlane := object.GetLabels()[clusterv1.MachineControlPlaneLabel]
	m.leaving = object.GetDeletionTimestamp() != nil && m.node != "" && m.cluster.Name != "" && !controlPlane
	switch deleting(object) {
	case clusterv1.MachineDeletingWaitingForVolumeDetachReason, clusterv1.MachineDeletingWaitingForPreTerminateHookReason:
		m.drained = true
	case clusterv1.MachineDeletingWaitingForInfrastructureDeletionReason, clusterv1.MachineDeletingWaitingForBootstrapDeletionReason,
		clusterv1.MachineDeletingDeletingNodeReason, clusterv1.MachineDeletingDeletionCompletedReason:
		m.leaving = false
	}
	_, m.held = object.GetAnnotations()[HookAnnotation]
	if at, err := time.Parse(time.RFC3339, object.GetAnnotations()[LeftAnnotation]); err == nil {
		m.left = at
	}
	return m
}

// deleting is how far a deletion is: the reason of Cluster API's condition.
func deleting(object *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if condition, _ := entry.(map[string]any); condition["type"] == clusterv1.MachineDeletingCondition {
			reason, _ := condition["reason"].(string)
			return reason
		}
	}
	return ""
}
