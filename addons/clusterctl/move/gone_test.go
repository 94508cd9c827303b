package move

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
)

// TestAnObjectThatStaysEndsTheMove with its finalizers; one that goes in time does not.
func TestAnObjectThatStaysEndsTheMove(t *testing.T) {
	t.Parallel()
	kind := schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "machines"}
	for name, goes := range map[string]bool{"it stays": false, "it goes": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
					"metadata": map[string]any{"namespace": "prod", "name": "m", "finalizers": []any{"machine.cluster.x-k8s.io"}}}}
				client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{kind: "MachineList"}, o).Resource(kind).Namespace("prod")
				if goes {
					time.AfterFunc(20*time.Second, func() { _ = client.Delete(t.Context(), "m", metav1.DeleteOptions{}) })
				}
				begun := time.Now()
				err := gone(t.Context(), client, "m")
				switch took := time.Since(begun); {
				case goes && (err != nil || took > 21*time.Second):
					t.Errorf("after %s: %v", took, err)
				case !goes && (err == nil || took > 45*time.Second+time.Second || !strings.Contains(err.Error(), "it waits for machine.cluster.x-k8s.io")):
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}
