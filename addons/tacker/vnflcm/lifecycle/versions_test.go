package lifecycle

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// versions: an object that another package has in another version of its kind is the same one,
// and is not deleted.
func versions(t *testing.T, w *world) {
	d := w.open(t, "78787878")
	scaler := func(version string) string {
		return "apiVersion: autoscaling/" + version + "\nkind: HorizontalPodAutoscaler\nmetadata: {name: grows}\nspec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x}}\n"
	}
	old, next := w.onboard(t, build(t, "versions", "1.34.4"), scaler("v1")), w.onboard(t, build(t, "versions", "1.35.0"), scaler("v2"))
	id := d.create(old.ID)
	d.run(id, "instantiate", d.instantiation(old.Deploy), v1alpha1.Completed)
	scalers := w.kube.Typed.AutoscalingV2().HorizontalPodAutoscalers(d.namespace)
	before, err := scalers.Get(t.Context(), "grows", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d.run(id, "change_vnfpkg", object{"vnfdId": next.ID, "additionalParams": object{"upgrade_type": "RollingUpdate", "vdu_params": []any{}, "lcm-kubernetes-def-files": next.Deploy}}, v1alpha1.Completed)
	if after, err := scalers.Get(t.Context(), "grows", metav1.GetOptions{}); err != nil || after.UID != before.UID || after.DeletionTimestamp != nil {
		t.Errorf("after the change: %v, %v", after, err)
	}
	d.run(id, "terminate", object{"terminationType": "FORCEFUL"}, v1alpha1.Completed)
	if _, err := scalers.Get(t.Context(), "grows", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the termination: %v", err)
	}
}
