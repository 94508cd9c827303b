package addonprovider

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func clusterKind() schema.GroupKind {
	return schema.GroupKind{Group: "cluster.x-k8s.io", Kind: "Cluster"}
}

// clusterObjects are the objects of Cluster API that templates are about. They
// are read without types, so that both contracts (v1beta1, v1beta2) are served.
type clusterObjects struct {
	cluster  *unstructured.Unstructured
	infra    *unstructured.Unstructured // nil where there is none
	identity *unstructured.Unstructured // nil where there is none
}

// preferred is the version of a kind that the API server prefers, which is also
// the one that is watched.
func (r *reconciler) preferred(kind schema.GroupKind) (schema.GroupVersionKind, error) {
	mapping, err := r.client.RESTMapper().RESTMapping(kind)
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("finding kind %s: %w", kind, err)
	}
	return mapping.GroupVersionKind, nil
}

// cached reads an object through the cache, which then watches its kind.
func (r *reconciler) cached(ctx context.Context, kind schema.GroupKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	gvk, err := r.preferred(kind)
	if err != nil {
		return nil, err
	}
	if err := r.watches.ensure(ctx, gvk); err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	if err := r.client.Get(ctx, key, object); err != nil {
		return nil, err
	}
	return object, nil
}

// cluster reads the Cluster of an addon; nil where it, or its kind, is missing.
func (r *reconciler) cluster(ctx context.Context, key types.NamespacedName) (*unstructured.Unstructured, error) {
	cluster, err := r.cached(ctx, clusterKind(), key)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Cluster %s: %w", key, err)
	}
	return cluster, nil
}

// surroundings reads the infrastructure cluster and the cloud identity. Clusters
// without either are fine.
func (r *reconciler) surroundings(ctx context.Context, cluster *unstructured.Unstructured) (*clusterObjects, error) {
	objects := &clusterObjects{cluster: cluster}
	kind, name, ok := infraRef(cluster)
	if !ok {
		return objects, nil
	}
	if !isInfrastructure(kind) {
		return nil, &waitError{"InfrastructureMissing", fmt.Sprintf("%s is no kind of infrastructure: its group must be %s", kind, infrastructureGroup)}
	}
	var err error
	objects.infra, err = r.cached(ctx, kind, types.NamespacedName{Namespace: cluster.GetNamespace(), Name: name})
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, &waitError{"InfrastructureMissing", fmt.Sprintf("%s %s is missing", kind.Kind, name)}
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind.Kind, name, err)
	}
	identity, ok := identityOf(objects.infra)
	r.identities.set(client.ObjectKeyFromObject(cluster), identity)
	if ok {
		objects.identity, err = r.source(ctx, "Secret", types.NamespacedName{Namespace: cluster.GetNamespace(), Name: identity})
		if err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// infrastructureGroup is the group of the kinds that may be a Cluster's
// infrastructure.
const infrastructureGroup = "infrastructure.cluster.x-k8s.io"

// isInfrastructure tells whether a Cluster's infrastructure may be of a kind. It
// is watched in all namespaces: with any other, whoever may write a Cluster could
// have the provider hold all Secrets in memory.
func isInfrastructure(kind schema.GroupKind) bool { return kind.Group == infrastructureGroup }

// infraRef is the reference to the infrastructure cluster: by apiVersion in
// v1beta1 of Cluster API, by apiGroup in v1beta2.
func infraRef(cluster *unstructured.Unstructured) (kind schema.GroupKind, name string, ok bool) {
	ref, _, _ := unstructured.NestedStringMap(cluster.Object, "spec", "infrastructureRef")
	if ref == nil { // other types than strings among the fields
		fields, _, _ := unstructured.NestedMap(cluster.Object, "spec", "infrastructureRef")
		ref = map[string]string{}
		for key, value := range fields {
			if text, isText := value.(string); isText {
				ref[key] = text
			}
		}
	}
	group := ref["apiGroup"]
	if group == "" {
		version, err := schema.ParseGroupVersion(ref["apiVersion"])
		if err != nil {
			return kind, "", false
		}
		group = version.Group
	}
	return schema.GroupKind{Group: group, Kind: ref["kind"]}, ref["name"], ref["kind"] != "" && ref["name"] != ""
}

// identityOf is the Secret with the credential of an infrastructure cluster. There is none if an
// OpenStackClusterIdentity names one: CAPO keeps it from the cluster's namespace, and whoever
// writes templates there could read it.
func identityOf(infra *unstructured.Unstructured) (string, bool) {
	if shared, _, _ := unstructured.NestedString(infra.Object, "spec", "identityRef", "type"); shared == "ClusterIdentity" {
		return "", false
	}
	name, _, _ := unstructured.NestedString(infra.Object, "spec", "identityRef", "name")
	kind, found, _ := unstructured.NestedString(infra.Object, "spec", "identityRef", "kind")
	if found && kind != "Secret" && kind != "" {
		return "", false
	}
	return name, name != ""
}

// clusterReady tells whether an addon may go on a cluster, and why not.
func clusterReady(cluster *unstructured.Unstructured, bootstrap bool) (bool, string) {
	if bootstrap {
		// ControlPlaneInitialized is a condition in both contracts.
		if condition(cluster, "ControlPlaneInitialized") {
			return true, ""
		}
		return false, "the control plane of Cluster " + cluster.GetName() + " is not initialised"
	}
	if condition(cluster, "Ready") || condition(cluster, "Available") {
		return true, ""
	}
	return false, "Cluster " + cluster.GetName() + " is not ready"
}

// condition tells whether a condition is true, wherever a version of Cluster API
// keeps it.
func condition(object *unstructured.Unstructured, name string) bool {
	for _, path := range [][]string{
		{"status", "conditions"}, {"status", "v1beta2", "conditions"}, {"status", "deprecated", "v1beta1", "conditions"},
	} {
		conditions, _, _ := unstructured.NestedFieldNoCopy(object.Object, path...)
		items, _ := conditions.([]any)
		for _, item := range items {
			if c, ok := item.(map[string]any); ok && c["type"] == name && c["status"] == "True" {
				return true
			}
		}
	}
	return false
}

// workerless tells whether a cluster is to have no workers. Cluster API counts
// them since 1.9; where it does not, there may be some.
func workerless(cluster *unstructured.Unstructured) bool {
	for _, path := range [][]string{{"status", "workers"}, {"status", "v1beta2", "workers"}} {
		if workers, found, _ := unstructured.NestedMap(cluster.Object, path...); found {
			wanted, _, _ := unstructured.NestedInt64(workers, "desiredReplicas")
			return wanted == 0
		}
	}
	return false
}

// deleting tells whether a cluster is on its way out.
func deleting(cluster *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(cluster.Object, "status", "phase")
	return cluster.GetDeletionTimestamp() != nil || phase == "Deleting"
}
