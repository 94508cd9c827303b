package recovery

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
)

// Addons of the management cluster have namespaces of their own, which up fills again:
// a restore must not meet what is there by their names.
func TestNamespacesOfAddonsAreLeftToUp(t *testing.T) {
	t.Parallel()
	object := func(version, kind, namespace, name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind,
			"metadata": map[string]any{"namespace": namespace, "name": name, "uid": namespace + kind + name}}}
	}
	s := &snapshot.Snapshot{Objects: []*unstructured.Unstructured{
		object("cluster.x-k8s.io/v1beta2", "Cluster", "default", "demo"),
		object("cluster.x-k8s.io/v1beta2", "Cluster", "shop", "shop"),
		object("v1", "ConfigMap", "shop", "values"),
		object("v1", "ConfigMap", "kube-flannel", "kube-flannel-cfg"),
		object("v1", "Secret", "openstack-system", "cloud-config"),
		object("v1", "Secret", "velero", "cloud-credentials"),
	}}
	wanted, out, err := Choose(s, Scope{Own: "default/demo"})
	if err != nil {
		t.Fatal(err)
	}
	restored, skipped := map[string]bool{}, map[string]string{}
	for _, o := range wanted {
		restored[Describe(o)] = true
	}
	for _, one := range out {
		skipped[one.Object] = one.Reason
	}
	if !restored["Cluster shop/shop"] || !restored["ConfigMap shop/values"] || len(restored) != 2 {
		t.Errorf("restored %v", restored)
	}
	for _, object := range []string{"Cluster default/demo", "ConfigMap kube-flannel/kube-flannel-cfg", "Secret openstack-system/cloud-config", "Secret velero/cloud-credentials"} {
		if skipped[object] == "" {
			t.Errorf("%s is not left out: %v", object, skipped)
		}
	}
}
