package janitor

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// machine makes one of a cluster, in either of its two objects.
func (w *world) machine(version, kind, namespace, cluster string) *unstructured.Unstructured {
	w.Helper()
	machine := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind}}
	machine.SetNamespace(namespace)
	machine.SetName(cluster + "-md-0-x7k2p")
	machine.SetLabels(map[string]string{clusterNameLabel: cluster})
	if err := w.kube.Create(w.Context(), machine); err != nil {
		w.Fatal(err)
	}
	return machine
}

// TestMachinesGoFirst: who deletes a Cluster together with its OpenStackCluster, as Helm and
// the end of a namespace do, has its machines running when the janitor comes.
func TestMachinesGoFirst(t *testing.T) {
	t.Parallel()
	for kind, version := range map[string]string{"Machine": "cluster.x-k8s.io/v1beta2", "OpenStackMachine": "infrastructure.cluster.x-k8s.io/v1beta1"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.cluster("default", "prod")
			owner := w.ownedBy(s, func(*unstructured.Unstructured) {})
			machine := w.machine(version, kind, "default", "prod")
			w.machine(version, kind, "default", "other")
			w.machine(version, kind, "elsewhere", "prod")
			web, volume := s.service("web"), s.volume(nil)
			if err := w.kube.Delete(t.Context(), owner); err != nil {
				t.Fatal(err)
			}
			s.delete()
			s.held(ReasonMachinesNotDeleted, "1 left: "+kind+" "+machine.GetName())
			present(t, "load balancer", w.getBalancer(web.balancer))
			present(t, "volume", w.getVolume(volume))
			if err := w.kube.Delete(t.Context(), machine); err != nil {
				t.Fatal(err)
			}
			s.settle()
			absent(t, "load balancer", w.getBalancer(web.balancer))
			absent(t, "volume", w.getVolume(volume))
		})
	}
}
