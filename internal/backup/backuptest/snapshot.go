package backuptest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
)

// Environment is the name of the environment of Snapshot.
const Environment = "prod"

// Secret is in a Secret of each cluster of Snapshot.
const Secret = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"

// Snapshot is of so many clusters with three machines each: as many objects as
// Object makes, and a cloud with their servers.
func Snapshot(clusters int, taken time.Time) *snapshot.Snapshot {
	s := &snapshot.Snapshot{Environment: Environment, Taken: taken, Slipway: "v1.2.3", Kubernetes: "v1.34.4", Controllers: map[string]string{"cluster-api": "v1.12.3"},
		Revision: "4711", File: []byte("apiVersion: slipway.sh/v1alpha1\n"), State: []byte(`{"version":3}`)}
	for n := range clusters {
		s.Objects = append(s.Objects, Cluster(n)...)
		for m := range 3 {
			id := fmt.Sprintf("%08x-0000-0000-0000-%012d", m, n)
			s.Cloud.Servers = append(s.Cloud.Servers, snapshot.Resource{ID: id, Name: fmt.Sprintf("c%d-%d", n, m), Project: "p", Status: "ACTIVE"})
			s.Cloud.Ports = append(s.Cloud.Ports, snapshot.Resource{ID: id, Name: fmt.Sprintf("c%d-%d", n, m), Project: "p", Status: "ACTIVE", Address: "10.0.0.5"})
		}
	}
	return s
}

// Cluster is the objects of one cluster.
func Cluster(n int) (all []*unstructured.Unstructured) {
	namespace := fmt.Sprintf("tenant-%04d", n)
	all = append(all, Object("v1", "Namespace", "", namespace, nil))
	all = append(all, Object("cluster.x-k8s.io/v1beta2", "Cluster", namespace, "c", map[string]any{"status": map[string]any{"phase": "Provisioned"}}))
	all = append(all, Object("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackCluster", namespace, "c", map[string]any{"status": map[string]any{"ready": true}}))
	for m := range 3 {
		name := fmt.Sprintf("c-%d", m)
		all = append(all, Object("cluster.x-k8s.io/v1beta2", "Machine", namespace, name, map[string]any{
			"spec": map[string]any{"providerID": fmt.Sprintf("openstack:///%08x-0000-0000-0000-%012d", m, n)}, "status": map[string]any{"phase": "Running"}}))
		all = append(all, Object("infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackMachine", namespace, name, nil))
		all = append(all, Object("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", namespace, name, nil))
	}
	for _, name := range []string{"c-ca", "c-etcd", "c-sa", "c-kubeconfig"} {
		all = append(all, Object("v1", "Secret", namespace, name, map[string]any{"data": map[string]any{"tls.key": Secret + Noise(n, name, 1500)}}))
	}
	all = append(all, Object("v1", "Secret", namespace, "sh.helm.release.v1.c.v1", map[string]any{"type": "helm.sh/release.v1", "data": map[string]any{"release": Noise(n, "release", 12000)}}))
	return all
}

// Object is an object with managed fields and conditions, as long as real ones are.
func Object(version, kind, namespace, name string, more map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind}}
	for key, value := range more {
		o.Object[key] = value
	}
	o.SetName(name)
	o.SetNamespace(namespace)
	o.SetUID("5b1f5c3e-0000-4000-8000-00000000000a")
	o.SetResourceVersion("4242")
	o.SetLabels(map[string]string{"cluster.x-k8s.io/cluster-name": "c"})
	fields := map[string]any{}
	for i := range 40 {
		fields[fmt.Sprintf("f:field%d", i)] = map[string]any{}
	}
	_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{"manager": "manager", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": fields}}, "metadata", "managedFields") // the fields are new
	return o
}

// Noise is text that does not compress, the same for the same arguments.
func Noise(n int, name string, length int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	seed := uint64(n)
	for _, b := range []byte(name) {
		seed = seed*31 + uint64(b)
	}
	random := rand.New(rand.NewPCG(seed, 1))
	text := make([]byte, length)
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	return string(text)
}
