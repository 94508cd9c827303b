package devstack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/stacks/devstack"
)

// TestOnlyPodsOfThisHostAreLetIn has a cluster of two nodes, one of which is this host.
func TestOnlyPodsOfThisHostAreLetIn(t *testing.T) {
	t.Parallel()
	node := func(name, address string, networks ...string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDRs: networks},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: address}}}}
	}
	on := &kube.Cluster{Typed: fake.NewClientset(node("here", "192.0.2.7", "10.244.0.0/24", "fd00:10:244::/64"), node("there", "192.0.2.8", "10.244.1.0/24"))}
	var added []string
	err := openToExternal(t.Context(), on, "192.0.2.7", func(_ context.Context, program string, args ...string) (string, error) {
		if slices.Contains(args, "-C") {
			return "", errors.New("no such rule")
		}
		added = append(added, program+" "+strings.Join(args, " "))
		return "", nil
	})
	text := strings.Join(added, "\n")
	if err != nil || len(added) != 4 || strings.Contains(text, "10.244.1.0") || strings.Contains(text, "fd00") {
		t.Errorf("%v:\n%s", err, text)
	}
	if want := "iptables -w -t nat -I POSTROUTING -s 10.244.0.0/24 ! -d 10.244.0.0/24 -m comment --comment slipway-devstack -j MASQUERADE"; !slices.Contains(added, want) {
		t.Errorf("no %s in\n%s", want, text)
	}
}

// object is one of a cluster of somebody else; by is the program that wrote it.
func object(kind, version, namespace, name, by string, labels map[string]string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{}}}
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetLabels(labels)
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: by, Operation: metav1.ManagedFieldsOperationUpdate}})
	return o
}

// external is a cluster of somebody else, with what the plugin brought, what was there, and
// what magnum-capi-helm has on it.
func external() *dynamicfake.FakeDynamicClient {
	project := map[string]string{"magnum.openstack.org/project-id": "p"}
	kinds := map[schema.GroupVersionResource]string{{Version: "v1", Resource: "namespaces"}: "NamespaceList", {Version: "v1", Resource: "secrets"}: "SecretList",
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}: "CustomResourceDefinitionList"}
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds,
		object("Namespace", "v1", "", "default", "kube-apiserver", nil),
		object("Namespace", "v1", "", "magnum-ours", "slipway", project),
		object("Namespace", "v1", "", "magnum-theirs", "python-requests", project),
		object("Secret", "v1", "default", "slipway-devstack-cloud", "slipway", nil),
		object("Secret", "v1", "default", "theirs", "slipway", nil),
		object("CustomResourceDefinition", "apiextensions.k8s.io/v1", "", "clusters.magnum.slipway.sh", "slipway", map[string]string{madeLabel: "made"}),
		object("CustomResourceDefinition", "apiextensions.k8s.io/v1", "", "manifests.addons.stackhpc.com", "slipway", nil))
}

// TestUnstackTakesBackWhatItBrought and nothing else; definitions are the last, because a
// namespace is not deleted while something of an unknown kind may be in it.
func TestUnstackTakesBackWhatItBrought(t *testing.T) {
	t.Parallel()
	client := external()
	if err := removeBrought(t.Context(), client, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if got, want := deletions(client), []string{"magnum-ours", "slipway-devstack-cloud", "clusters.magnum.slipway.sh"}; !slices.Equal(got, want) {
		t.Errorf("deleted %q, want %q", got, want)
	}
}

// TestWhatStaysOfThePluginIsNamed, and an API that refuses.
func TestWhatStaysOfThePluginIsNamed(t *testing.T) {
	t.Parallel()
	stuck := external()
	stuck.PrependReactor("delete", "namespaces", func(ktesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := removeBrought(ctx, stuck, time.Millisecond); err == nil || !strings.Contains(err.Error(), "still there: Namespace magnum-ours") {
		t.Errorf("a namespace that stays: %v", err)
	}
	refused := external()
	refused.PrependReactor("delete", "secrets", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, cloudSecret, errors.New("not yours"))
	})
	if err := removeBrought(t.Context(), refused, time.Millisecond); err == nil || !strings.Contains(err.Error(), "deleting Secret default/slipway-devstack-cloud") {
		t.Errorf("a Secret that may not be deleted: %v", err)
	}
}

// TestK3sKeepsNothingOfProjects over unstack.sh: the next stack.sh makes others.
func TestK3sKeepsNothingOfProjects(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var deleted []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		items := []any{}
		if r.Method == http.MethodDelete {
			deleted = append(deleted, r.URL.Path)
		} else if r.URL.Path == "/api/v1/namespaces" && len(deleted) == 0 {
			items = append(items, object("Namespace", "v1", "", "magnum-former", "slipway", map[string]string{"magnum.openstack.org/project-id": "former"}).Object)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "List", "apiVersion": "v1", "metadata": map[string]any{}, "items": items})
	}))
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\nclusters: [{name: k3s, cluster: {server: '" + server.URL + "'}}]\ncontexts: [{name: k3s, context: {cluster: k3s}}]\ncurrent-context: k3s\n"
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := takeBack(t.Context(), devstack.Settings{Mode: devstack.K3s, Kubeconfig: kubeconfig}, nil); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"/api/v1/namespaces/magnum-former"}; !slices.Equal(deleted, want) {
		t.Errorf("deleted %q, want %q", deleted, want)
	}
}
