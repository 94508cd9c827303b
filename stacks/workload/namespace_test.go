package workload

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/vain"
)

// TestANamespaceThatStaysEndsTheWait with what Kubernetes says of its deletion; one that only
// still has content is waited for.
func TestANamespaceThatStaysEndsTheWait(t *testing.T) {
	t.Parallel()
	key := Key{Namespace: "shop", Name: "shop"}
	for name, test := range map[string]struct {
		kind corev1.NamespaceConditionType
		ends bool
	}{
		"a finalizer":      {corev1.NamespaceFinalizersRemaining, true},
		"an API that died": {corev1.NamespaceDeletionDiscoveryFailure, true},
		"content":          {corev1.NamespaceContentRemaining, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{LabelCluster: "shop"}},
					Status: corev1.NamespaceStatus{Conditions: []corev1.NamespaceCondition{{Type: test.kind, Status: corev1.ConditionTrue, Message: "Some content in the namespace remains: x"}}}})
				client.PrependReactor("delete", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil }) // it is accepted, and stands still
				m := &Management{Kube: &kube.Cluster{Typed: client}}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				begun := time.Now()
				_, err := m.deleteNamespace(ctx, key, func(string) {})
				took := time.Since(begun)
				if test.ends != (took <= 45*time.Second) || took < vain.Patience || err == nil {
					t.Errorf("after %s: %v", took, err)
				}
				if test.ends && (!strings.Contains(err.Error(), "its deletion stands still: Some content") || !strings.Contains(fault.Remedy(err), "remove what its conditions name")) {
					t.Errorf("it says %v (%s)", err, fault.Remedy(err))
				}
			})
		})
	}
}
