package devstack

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

func cluster(group, version, namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/" + version, "kind": "Cluster",
		"metadata": map[string]any{"namespace": namespace, "name": name}}}
}

// parent is a management cluster with a cluster of the Magnum API, the one below it, and
// one that somebody created with kubectl.
func parent() *fake.FakeDynamicClient {
	kinds := map[schema.GroupVersionResource]string{}
	for _, kind := range clusterKinds() {
		kinds[kind] = "ClusterList"
	}
	return fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds,
		cluster("magnum.slipway.sh", "v1alpha1", "magnum-1", "shop"), cluster("cluster.x-k8s.io", "v1beta2", "magnum-1", "shop-abc"), cluster("cluster.x-k8s.io", "v1beta2", "default", "mine"))
}

// deletions are the clusters whose deletion was asked for, in order.
func deletions(client *fake.FakeDynamicClient) (names []string) {
	for _, action := range client.Actions() {
		if d, ok := action.(ktesting.DeleteAction); ok {
			names = append(names, d.GetName())
		}
	}
	return names
}

func TestClustersAreDeletedTheOuterFirst(t *testing.T) {
	t.Parallel()
	client := parent()
	inner := clusterKinds()[1]
	// As the controllers do: the inner cluster goes with the outer one.
	client.PrependReactor("delete", "clusters", func(action ktesting.Action) (bool, runtime.Object, error) {
		if d := action.(ktesting.DeleteAction); d.GetName() == "shop" {
			return false, nil, client.Tracker().Delete(inner, "magnum-1", "shop-abc")
		}
		return false, nil, nil
	})
	var said bytes.Buffer
	if err := deleteClusters(t.Context(), ui.Streams{Err: &said}, client, time.Minute, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(deletions(client), " "); got != "shop mine" {
		t.Errorf("deleted %s", got)
	}
	for _, kind := range clusterKinds() {
		if list, err := client.Resource(kind).List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
			t.Errorf("left %v (%v)", list, err)
		}
	}
	if !strings.Contains(said.String(), "deleting magnum.slipway.sh magnum-1/shop\n") {
		t.Errorf("said %s", said.String())
	}
}

func TestWhatIsNotDeletedInTimeIsTold(t *testing.T) {
	t.Parallel()
	client := parent()
	client.PrependReactor("delete", "clusters", func(ktesting.Action) (bool, runtime.Object, error) { return true, nil, nil }) // a finalizer
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := deleteClusters(ctx, ui.Streams{Err: &bytes.Buffer{}}, client, 50*time.Millisecond, time.Millisecond)
	if fault.ExitCode(err) != fault.ExitDeadline || !strings.Contains(err.Error(), "magnum-1/shop") || !strings.Contains(fault.Remedy(err), "SLIPWAY_UNSTACK_TIMEOUT") {
		t.Errorf("%d: %v", fault.ExitCode(err), err)
	}
	refused := parent()
	refused.PrependReactor("list", "clusters", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	if err := deleteClusters(t.Context(), ui.Streams{Err: &bytes.Buffer{}}, refused, time.Minute, time.Millisecond); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("a cluster that does not answer: %v", err)
	}
}
