package within

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/clusterapi"
)

// kinds are those that clusterapi reads.
func kinds() map[schema.GroupVersionResource]string {
	lists := map[schema.GroupVersionResource]string{}
	for group, names := range map[string]string{"v1": "events secrets pods", "cluster.x-k8s.io/v1beta2": "clusters machines machinedeployments machinehealthchecks",
		"controlplane.cluster.x-k8s.io/v1beta2": "kubeadmcontrolplanes", "infrastructure.cluster.x-k8s.io/v1beta1": "openstackclusters openstackmachines",
		"infrastructure.cluster.x-k8s.io/v1alpha1": "openstackservers", "addons.stackhpc.com/v1alpha1": "helmreleases manifests", "openstack.k-orc.cloud/v1alpha1": "servergroups"} {
		version, _ := schema.ParseGroupVersion(group)
		for name := range strings.FieldsSeq(names) {
			lists[version.WithResource(name)] = name + "List"
		}
	}
	return lists
}

// TestThoseThatAreNotReadyAreAskedFirst: time may not suffice for all of a thousand.
func TestThoseThatAreNotReadyAreAskedFirst(t *testing.T) {
	t.Parallel()
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds())
	create := func(group, version, resource, kind, name string, spec, status map[string]any) {
		t.Helper()
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/" + version, "kind": kind, "metadata": map[string]any{"namespace": "prod", "name": name}, "spec": spec, "status": status}}
		at := schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
		if _, err := client.Resource(at).Namespace("prod").Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	sick := fmt.Sprintf("c-%03d", 2*askAtOnce-1)
	for i := range 2 * askAtOnce {
		name, available := fmt.Sprintf("c-%03d", i), "True"
		if name == sick {
			available = "False"
		}
		conditions := []any{map[string]any{"type": "ControlPlaneInitialized", "status": "True"}, map[string]any{"type": "Available", "status": available}}
		create("cluster.x-k8s.io", "v1beta2", "clusters", "Cluster", name, map[string]any{"infrastructureRef": map[string]any{"name": name}},
			map[string]any{"phase": "Provisioned", "conditions": conditions})
		create("infrastructure.cluster.x-k8s.io", "v1beta1", "openstackclusters", "OpenStackCluster", name, nil, map[string]any{"ready": true})
	}
	all, err := clusterapi.ReadAll(t.Context(), client, metav1.NamespaceAll)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var asked []string
	full := make(chan struct{})
	// As many as are asked at once arrive before any has an answer.
	way := func(_ context.Context, _, name string) (*rest.Config, string, error) {
		mu.Lock()
		asked = append(asked, name)
		if len(asked) == askAtOnce {
			close(full)
		}
		mu.Unlock()
		<-full
		return nil, "", errors.New("away")
	}
	said := Ask(t.Context(), way, all, func(clusterapi.Report) bool { return true })
	if first := strings.Join(asked[:askAtOnce], " "); !strings.Contains(first, sick) {
		t.Errorf("%s is not among the first: %s", sick, first)
	}
	if _, unseen := said.Of("prod", "c-000"); len(asked) != 2*askAtOnce || len(unseen) != 1 || unseen[0].Why != "away" {
		t.Errorf("%d were asked, the first: %v", len(asked), unseen)
	}
}
