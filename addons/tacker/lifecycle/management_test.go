package lifecycle

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-sh/slipway/addons/clusterctl"
	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/tackertest"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// available stands in for the kubelet: each Deployment is available. The webhooks would
// need Pods, so they are taken away.
func available(ctx context.Context, client kubernetes.Interface) {
	const body = `{"status": {"conditions": [{"type": "Available", "status": "True", "reason": "R", "message": "m"}]}}`
	for ctx.Err() == nil {
		_ = client.AdmissionregistrationV1().ValidatingWebhookConfigurations().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		_ = client.AdmissionregistrationV1().MutatingWebhookConfigurations().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		list, err := client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{})
		for i := 0; err == nil && i < len(list.Items); i++ {
			d := &list.Items[i]
			_, _ = client.AppsV1().Deployments(d.Namespace).Patch(ctx, d.Name, types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{}, "status")
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// TestManagement installs the management cluster's package on an API server. The release
// fits into Helm's Secret; what cert-manager accepts comes later; and the package cannot
// be terminated while a cluster exists.
func TestManagement(t *testing.T) {
	t.Parallel()
	server := kubetest.Start(t)
	server.Config.QPS = -1
	w := &world{server: server, packages: map[string]*tackertest.Package{}, receiver: newSink(t), typed: kubernetes.NewForConfigOrDie(server.Config), dynamic: dynamic.NewForConfigOrDie(server.Config)}
	var err error
	if w.kube, err = kube.New(server.Config); err != nil {
		t.Fatal(err)
	}
	w.tacker = tackertest.New(t, server.Config, server.Kubeconfig)
	folder, err := bundle.Open(os.Getenv("SLIPWAY_BUNDLE"))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := clusterctl.Objects(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	types := map[string][]byte{"etsi_nfv_sol001_common_types.yaml": []byte("x"), "etsi_nfv_sol001_vnfd_types.yaml": []byte("x")}
	p, err := csar.Management(csar.Spec{Name: "capi-mgmt", Version: "1.0.0"}, objects, csar.Options{Variant: csar.Helm, Types: types})
	if err != nil {
		t.Fatal(err)
	}
	work, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); available(work, w.typed) }()
	t.Cleanup(func() { stop(); <-ended })
	r := w.begin(t, w.onboard(t, p, "capi-mgmt"), "capi-mgmt")
	r.must(r.Instantiate(r.pkg.bodies["instantiate"]))
	certificates, err := w.dynamic.Resource(schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(certificates.Items) < 4 {
		t.Errorf("%d certificates, %v", len(certificates.Items), err)
	}
	one := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": map[string]any{"name": "shop"},
		"spec": map[string]any{"clusterNetwork": map[string]any{"serviceDomain": "cluster.local"}}}}
	if _, err := w.dynamic.Resource(clusters).Namespace("default").Create(t.Context(), one, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.Terminate(r.pkg.bodies["terminate"]); tackertest.Status(err) != 422 || !strings.Contains(err.Error(), "1 clusters still exist: default/shop") {
		t.Errorf("with a cluster: %v", err)
	}
	r.must(w.dynamic.Resource(clusters).Namespace("default").Delete(t.Context(), "shop", metav1.DeleteOptions{}))
	r.must(r.Terminate(r.pkg.bodies["terminate"]))
}
