package lifecycle

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-sh/slipway/addons/clusterctl"
	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/tackertest"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
)

// withoutWebhooks takes webhooks away, again and again: nothing answers them here.
func withoutWebhooks(ctx context.Context, client kubernetes.Interface) {
	for ctx.Err() == nil {
		_ = client.AdmissionregistrationV1().ValidatingWebhookConfigurations().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		_ = client.AdmissionregistrationV1().MutatingWebhookConfigurations().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// established: every definition of the bundle's providers is served.
func established(t *testing.T, w *world, objects []*unstructured.Unstructured) {
	t.Helper()
	definitions := w.dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	kinds := 0
	for _, o := range objects {
		if o.GetKind() != "CustomResourceDefinition" {
			continue
		}
		kinds++
		for end := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) { // an API server does so soon, not at once
			now, err := definitions.Get(t.Context(), o.GetName(), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			conditions, _, _ := unstructured.NestedSlice(now.Object, "status", "conditions")
			if slices.ContainsFunc(conditions, func(c any) bool { m := c.(map[string]any); return m["type"] == "Established" && m["status"] == "True" }) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s is not established", o.GetName())
			}
		}
	}
	if kinds < 20 {
		t.Errorf("the bundle has %d definitions", kinds)
	}
}

// controllerDown: while a controller's Pod does not run, the script fails and names it.
func controllerDown(t *testing.T, r *runner) {
	t.Helper()
	const space, name = "capo-system", "capo-controller-manager"
	r.w.tacker.Break(name)
	r.must(r.w.typed.CoreV1().Pods(space).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		d, err := r.w.typed.AppsV1().Deployments(space).Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && d.Status.AvailableReplicas == 0 {
			break
		}
	}
	r.pkg.Shorten(t, "Scripts/settings.json", map[string]any{"waitSeconds": 3})
	if err := r.Again(r.pkg.bodies["instantiate"]); tackertest.Status(err) != 422 || !strings.Contains(err.Error(), "deployment "+space+"/"+name+" is not ready after 3 s: MinimumReplicasUnavailable") {
		t.Errorf("a controller is down: %v", err)
	}
	r.w.tacker.Break("")
	r.pkg.Shorten(t, "Scripts/settings.json", map[string]any{"waitSeconds": 60})
	r.must(r.Again(r.pkg.bodies["instantiate"]))
}

// TestManagement installs the management cluster's package on an API server. The release
// fits into Helm's Secret; all kinds are served; what cert-manager accepts comes later; a
// controller that is down fails the operation; and the package cannot be terminated while
// a cluster exists. It does not prove T-26: Pods only say that they run, and there is no node.
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
	go func() { defer close(ended); withoutWebhooks(work, w.typed) }()
	t.Cleanup(func() { stop(); <-ended })
	r := w.begin(t, w.onboard(t, p, "capi-mgmt"), "capi-mgmt")
	r.must(r.Instantiate(r.pkg.bodies["instantiate"]))
	established(t, w, objects)
	controllerDown(t, r)
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
