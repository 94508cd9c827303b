package janitor

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hold says why a deleted OpenStackCluster must not be cleaned up yet; without a reason it may be.
// While its Cluster or its machines exist, so must what they use; and a paused Cluster may be being
// moved to another management cluster.
func (r *reconciler) hold(ctx context.Context, t target) (outcome, error) {
	paused := outcome{reason: ReasonPaused, message: "the cluster is paused"}
	if _, ok := t.object.GetAnnotations()[pausedAnnotation]; ok {
		return paused, nil
	}
	reference := t.owner()
	if reference == nil {
		return outcome{}, nil
	}
	owner, err := r.ownerOf(ctx, t.object.GetNamespace(), reference.Name)
	if err != nil || owner == nil || owner.GetUID() != reference.UID {
		return outcome{}, err
	}
	if stopped, _, _ := unstructured.NestedBool(owner.Object, "spec", "paused"); stopped {
		return paused, nil
	}
	if owner.GetDeletionTimestamp() == nil {
		return outcome{reason: ReasonClusterNotDeleted, message: fmt.Sprintf("Cluster %s is not being deleted and would lose its volumes: delete the Cluster, or annotate with %s=true to clean up nothing",
			owner.GetName(), ReleaseAnnotation)}, nil
	}
	return r.machines(ctx, owner)
}

// machines waits for the machines of a Cluster that is being deleted, as CAPO does. Cluster API
// deletes them before the OpenStackCluster, but not if somebody deletes the OpenStackCluster
// together with the Cluster.
func (r *reconciler) machines(ctx context.Context, owner *unstructured.Unstructured) (outcome, error) {
	for _, kind := range []schema.GroupVersionKind{owner.GroupVersionKind().GroupVersion().WithKind("Machine"), clusterKind().GroupVersion().WithKind("OpenStackMachine")} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		err := r.reader.List(ctx, list, client.InNamespace(owner.GetNamespace()), client.MatchingLabels{clusterNameLabel: owner.GetName()})
		if err != nil && !meta.IsNoMatchError(err) {
			return outcome{}, fmt.Errorf("listing %ss of Cluster %s: %w", kind.Kind, owner.GetName(), err)
		}
		var left []Resource
		for i := range list.Items {
			left = append(left, Resource{Kind: kind.Kind, ID: list.Items[i].GetName()})
		}
		if len(left) > 0 {
			return outcome{reason: ReasonMachinesNotDeleted, left: len(left), message: fmt.Sprintf("%d left: %s", len(left), names(left))}, nil
		}
	}
	return outcome{}, nil
}

// ownerOf reads a Cluster in whatever version is served; it returns nil if there is none.
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
