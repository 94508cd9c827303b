package clusterapi

import (
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// twoClusters share a namespace; what is of neither is an event about a pod and a machine of a
// cluster that is gone.
const twoClusters = `clusters
metadata: {name: a}
spec: {infrastructureRef: {name: a-infra}}
---
clusters
metadata: {name: b}
spec: {infrastructureRef: {name: b-infra}}
---
openstackclusters
metadata: {name: a-infra}
---
openstackclusters
metadata: {name: b-infra}
---
machines
metadata: {name: a-1, labels: {cluster.x-k8s.io/cluster-name: a}}
spec: {clusterName: a, infrastructureRef: {name: a-1-infra}}
---
machines
metadata: {name: b-1}
spec: {clusterName: b, infrastructureRef: {name: b-1-infra}}
---
machines
metadata: {name: c-1, labels: {cluster.x-k8s.io/cluster-name: c}}
---
openstackmachines
metadata: {name: a-1-infra}
---
openstackservers
metadata: {name: b-1-infra}
`

// TestObjectsAreSortedByCluster, each to its own, and events to the object that they are about.
func TestObjectsAreSortedByCluster(t *testing.T) {
	t.Parallel()
	o := namespace(t, twoClusters)
	for name, about := range map[string][2]string{"e1": {"OpenStackMachine", "a-1-infra"}, "e2": {"Machine", "b-1"}, "e3": {"Pod", "a-1"}} {
		o[eventKind] = append(o[eventKind], &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}, "involvedObject": map[string]any{"kind": about[0], "name": about[1]}}})
	}
	for cluster, want := range map[string]string{"a": "a a-1 a-1-infra a-infra e1", "b": "b b-1 b-1-infra b-infra e2"} {
		var names []string
		for _, list := range o.split()[cluster] {
			for _, object := range list {
				names = append(names, object.GetName())
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want {
			t.Errorf("of %s: %s, want %s", cluster, got, want)
		}
	}
	if parts := o.split(); len(parts) != 2 {
		t.Errorf("clusters %v", slices.Collect(maps.Keys(parts)))
	}
}

// TestSickClustersAreReadAlone: what is well costs no more than its Cluster, and the choice is
// the caller's.
func TestSickClustersAreReadAlone(t *testing.T) {
	t.Parallel()
	client := parent(t, `clusters
metadata: {name: well}
status: {conditions: [{type: Available, status: "True"}]}
---
clusters
metadata: {name: sick}
status: {conditions: [{type: Available, status: "False"}]}
---
clusters
metadata: {name: leaving, deletionTimestamp: "2026-01-02T09:00:00Z", finalizers: [x]}
status: {conditions: [{type: Available, status: "True"}]}
---
clusters
metadata: {name: other}
`)
	all, err := ReadSick(t.Context(), client, func(c *unstructured.Unstructured) bool { return c.GetName() != "other" })
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range all.Outline() {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	if strings.Join(names, " ") != "leaving sick" || all.Cluster(in, "sick") == nil || all.Cluster(in, "well") != nil {
		t.Errorf("read %v", names)
	}
	for _, name := range []string{"sick", "leaving", "other"} {
		if err := client.Resource(clusters).Namespace(in).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	client.ClearActions()
	if all, err = ReadSick(t.Context(), client, func(*unstructured.Unstructured) bool { return true }); err != nil || len(all.Outline()) > 0 || len(client.Actions()) != 1 {
		t.Errorf("of a cluster that is well: %v, %d calls", err, len(client.Actions()))
	}
}
