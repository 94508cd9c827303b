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

// clusterObjects are the Cluster API objects that templates refer to. They are read without types,
// so that both contracts (v1beta1, v1beta2) are served.
type clusterObjects struct {
	cluster  *unstructured.Unstructured
	infra    *unstructured.Unstructured // nil where there is none
	identity *unstructured.Unstructured // nil where there is none
}

// preferred is the version of a kind that the API server prefers; it is also the version that is
// watched.
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

// cluster reads the Cluster of an addon. It returns nil if the Cluster, or its kind, is missing.
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

// surroundings reads the infrastructure cluster and the cloud identity. A Cluster may lack either.
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

// infrastructureGroup is the API group of the kinds that may be a Cluster's infrastructure.
const infrastructureGroup = "infrastructure.cluster.x-k8s.io"

// isInfrastructure reports whether a Cluster's infrastructure may be of a kind. The kind is watched
// in all namespaces: if any group were allowed, a user who may write a Cluster could make the
// provider hold all Secrets in memory.
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

// identityOf is the Secret with the credential of an infrastructure cluster. There is none if the
// cluster refers to an OpenStackClusterIdentity: CAPO keeps that credential out of the cluster's
// namespace, and anybody who writes templates there could read it.
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

// clusterReady reports whether an addon may be installed on a cluster, and if not, why.
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

// condition reports whether a condition is true, wherever the Cluster API version keeps it.
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

// workerless reports whether a cluster is to have no workers. Cluster API counts them since 1.9;
// where it does not, there may be some.
func workerless(cluster *unstructured.Unstructured) bool {
	for _, path := range [][]string{{"status", "workers"}, {"status", "v1beta2", "workers"}} {
		if workers, found, _ := unstructured.NestedMap(cluster.Object, path...); found {
			wanted, _, _ := unstructured.NestedInt64(workers, "desiredReplicas")
			return wanted == 0
		}
	}
	return false
}

// deleting reports whether a cluster is being deleted.
func deleting(cluster *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(cluster.Object, "status", "phase")
	return cluster.GetDeletionTimestamp() != nil || phase == "Deleting"
}
