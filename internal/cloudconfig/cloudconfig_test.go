package cloudconfig

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDeploymentsAreUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status appsv1.DeploymentStatus
		want   bool
	}{
		"all are new":               {appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}, true},
		"the former one still runs": {appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}, false},
		"not seen yet":              {appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}, false},
		"no node for any":           {appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 1}, true},
		"not seen, and no node":     {appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1}, false},
	} {
		if got := deploymentUp(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: c.status}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
