package seed

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

const clusters = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusters.cluster.x-k8s.io}
spec:
  group: cluster.x-k8s.io
  names: {kind: Cluster, plural: clusters}
  scope: Namespaced
  versions:
    - name: v1beta2
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func kind() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: "v1beta2", Resource: "clusters"}
}

// TestNothingMayDependOnAShelvedSeed: the seed is not shelved unless the move is
// done, nothing is left on it, and the management cluster is well.
func TestNothingMayDependOnAShelvedSeed(t *testing.T) {
	t.Parallel()
	seed, management := server(t), server(t)
	cluster := types.NamespacedName{Namespace: "default", Name: "demo"}
	expect := func(want string) {
		t.Helper()
		err := independent(t.Context(), seed, management, cluster)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("told %v, want %q", err, want)
		}
	}
	expect("not all its objects are on the management cluster yet")
	record(t, seed, `{"to":"management","phase":"deleting"}`)
	expect("not all its objects are on the management cluster yet")
	record(t, seed, `{"to":"management","phase":"rested"}`)
	expect("not all its objects are on the management cluster yet")
	put(t, management, "demo")
	expect("demo: it is not ready")
	put(t, seed, "tenant")
	expect("it still manages default/tenant")
	if err := seed.Dynamic.Resource(kind()).Namespace("default").Delete(t.Context(), "tenant", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	record(t, seed, `{"to":"seed","phase":"copying"}`)
	expect("not all its objects are on the management cluster yet")
}

func server(t *testing.T) *kube.Cluster {
	t.Helper()
	api := kubetest.Start(t)
	api.Serve(t, []byte(clusters))
	c, err := kube.New(api.Config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func record(t *testing.T, c *kube.Cluster, text string) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "slipway-move-demo"}, StringData: map[string]string{"record": text}}
	secrets := c.Typed.CoreV1().Secrets("default")
	_ = secrets.Delete(t.Context(), secret.Name, metav1.DeleteOptions{})
	if _, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, c *kube.Cluster, name string) {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": map[string]any{"name": name}}}
	if err := c.ApplyObjects(t.Context(), []*unstructured.Unstructured{o}); err != nil {
		t.Fatal(err)
	}
}
