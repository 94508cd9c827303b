package janitor

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hold says why a deleted OpenStackCluster must not be cleaned up yet, "" when
// it may. While its Cluster lives, machines do, and what they use; and a Cluster
// that is paused may be on its way to another management cluster.
func (r *reconciler) hold(ctx context.Context, t target) (reason, message string, err error) {
	const paused = "the cluster is paused"
	if _, ok := t.object.GetAnnotations()[pausedAnnotation]; ok {
		return ReasonPaused, paused, nil
	}
	reference := t.owner()
	if reference == nil {
		return "", "", nil
	}
	owner, err := r.ownerOf(ctx, t.object.GetNamespace(), reference.Name)
	if err != nil || owner == nil || owner.GetUID() != reference.UID {
		return "", "", err
	}
	if stopped, _, _ := unstructured.NestedBool(owner.Object, "spec", "paused"); stopped {
		return ReasonPaused, paused, nil
	}
	if owner.GetDeletionTimestamp() == nil {
		return ReasonClusterNotDeleted, fmt.Sprintf("Cluster %s is not being deleted and would lose its volumes: delete the Cluster, or annotate with %s=true to clean up nothing",
			owner.GetName(), ReleaseAnnotation), nil
	}
	return "", "", nil
}

// ownerOf reads a Cluster in whatever version is served; nil when there is none.
func (r *reconciler) ownerOf(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error) {
	mapping, err := r.client.RESTMapper().RESTMapping(ownerKind())
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("finding the version of Cluster: %w", err)
	}
	owner := &unstructured.Unstructured{}
	owner.SetGroupVersionKind(mapping.GroupVersionKind)
	err = r.reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, owner)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Cluster %s: %w", name, err)
	}
	if err != nil {
		return nil, nil
	}
	return owner, nil
}
