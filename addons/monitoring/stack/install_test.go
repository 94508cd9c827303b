package stack

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-sh/slipway/internal/kube"
)

// TestNoVolumeShrinks: a smaller size is refused by the key that the environment file has.
func TestNoVolumeShrinks(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{Prometheus: "prometheus", Alertmanager: "alertmanager", Loki: "logs"} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
		on := &kube.Cluster{Typed: fake.NewClientset(claim)}
		if err := noSmaller(t.Context(), on, name, 10); err != nil {
			t.Errorf("%s: the same size: %v", name, err)
		}
		if err := noSmaller(t.Context(), on, name, 9); err == nil || !strings.HasPrefix(err.Error(), "spec.monitoring."+key+".volumeGiB: the volume has 10Gi already") {
			t.Errorf("%s: a smaller size: %v", name, err)
		}
	}
}
