// Package recoverytest makes what a backup of a management cluster contains: clusters
// as Cluster API and CAPO write them, with status and owners, and the cloud that they
// stand for.
package recoverytest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
)

// Taken is when the snapshots of this package were made.
func Taken() time.Time { return time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC) }

// Project is the project of every cluster.
const Project = "project-1"

// Graph is a snapshot and its cloud, to be changed by tests.
type Graph struct {
	Snapshot *snapshot.Snapshot
	// Networks, Routers and SecurityGroups are beside Snapshot.Cloud.
	Networks, Routers, SecurityGroups []snapshot.Resource

	uids map[string]string
}

// New is a graph with some clusters, each in a namespace of its own that has its
// name, with one control plane and two workers, and with a Magnum Cluster each.
func New(clusters ...string) *Graph {
	g := &Graph{Snapshot: &snapshot.Snapshot{Environment: "demo", Taken: Taken(), Slipway: "v1.0.0", Kubernetes: "v1.34.4",
		Controllers: map[string]string{"cluster-api": "v1.12.3", "infrastructure-openstack": "v0.14.2"}}, uids: map[string]string{}}
	for _, name := range clusters {
		g.cluster(name)
	}
	g.add("apiVersion: v1\nkind: Namespace\nmetadata: {name: kube-system}")
	g.add("apiVersion: v1\nkind: Secret\nmetadata: {name: of-the-system, namespace: kube-system}\ndata: {a: YQ==}")
	slices.SortFunc(g.Snapshot.Objects, func(a, b *unstructured.Unstructured) int { return strings.Compare(place(a), place(b)) })
	return g
}

func place(o *unstructured.Unstructured) string {
	k := o.GroupVersionKind()
	return k.Group + "/" + k.Kind + "/" + o.GetNamespace() + "/" + o.GetName()
}

// Find is the object of a kind and name; it panics if there is none.
func (g *Graph) Find(kind, name string) *unstructured.Unstructured {
	for _, o := range g.Snapshot.Objects {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	panic("no " + kind + " " + name)
}

// Drop removes an object.
func (g *Graph) Drop(kind, name string) {
	gone := g.Find(kind, name)
	g.Snapshot.Objects = slices.DeleteFunc(g.Snapshot.Objects, func(o *unstructured.Unstructured) bool { return o == gone })
}

// ResourceSet is a ClusterResourceSet, which is of no cluster alone: of those in a namespace
// that have a label. It brings a Secret of the cluster that has the namespace's name.
func ResourceSet(namespace string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "addons.cluster.x-k8s.io/v1beta2", "kind": "ClusterResourceSet",
		"metadata": map[string]any{"namespace": namespace, "name": "set", "uid": "set-of-" + namespace},
		"spec": map[string]any{"clusterSelector": map[string]any{"matchLabels": map[string]any{"set": "yes"}},
			"resources": []any{map[string]any{"kind": "Secret", "name": namespace + "-files"}}}}}
}

// add adds an object. Owners are "Kind/name" in the annotation "owners" of the text,
// which is taken out.
func (g *Graph) add(text string) {
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		panic(fmt.Sprintf("%v:\n%s", err, text))
	}
	normal(o.Object)
	key := o.GetNamespace() + " " + o.GetKind() + "/" + o.GetName()
	if o.GetAPIVersion() == "magnum.slipway.sh/v1alpha1" {
		key = o.GetNamespace() + " Magnum" + o.GetKind() + "/" + o.GetName()
	}
	uid := fmt.Sprintf("00000000-0000-4000-8000-%012d", len(g.uids)+1)
	g.uids[key] = uid
	metadata := o.Object["metadata"].(map[string]any)
	metadata["uid"], metadata["resourceVersion"], metadata["creationTimestamp"] = uid, fmt.Sprint(1000+len(g.uids)), "2026-02-01T00:00:00Z"
	metadata["managedFields"] = []any{map[string]any{"manager": "m", "operation": "Update"}}
	if o.Object["spec"] != nil {
		metadata["generation"] = int64(3)
	}
	if text, ok := metadata["owners"].(string); ok {
		delete(metadata, "owners")
		var owners []any
		for owner := range strings.FieldsSeq(text) {
			version, rest, _ := strings.Cut(owner, "|")
			kind, name, _ := strings.Cut(rest, "/")
			uid, known := g.uids[o.GetNamespace()+" "+kind+"/"+name]
			if !known {
				panic("no owner " + owner)
			}
			owners = append(owners, map[string]any{"apiVersion": version, "kind": strings.TrimPrefix(kind, "Magnum"), "name": name, "uid": uid, "controller": true, "blockOwnerDeletion": true})
		}
		metadata["ownerReferences"] = owners
	}
	g.Snapshot.Objects = append(g.Snapshot.Objects, o)
}

// normal makes numbers what an API server's are.
func normal(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range maps.Keys(v) {
			v[key] = normal(v[key])
		}
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return value
}

// release is a Helm release as Helm stores it.
func release(name string) string {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	fmt.Fprintf(w, `{"name":%q,"version":1,"chart":{"metadata":{"name":"openstack-cluster"}}}`, name)
	_ = w.Close() // into memory
	return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString(zipped.Bytes())))
}
