package janitor

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rivals are the clusters with the target's name that may share its project:
// OCCM and Cinder CSI mark what they make for either with the same words. What
// a rival's status names as its own is taken out of the target's.
func (r *reconciler) rivals(ctx context.Context, t *target, project string) ([]string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(clusterKind())
	if err := r.client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing OpenStackClusters: %w", err)
	}
	var found []string
	for i := range list.Items {
		other := &list.Items[i]
		key := client.ObjectKeyFromObject(other)
		if key == t.key() || clusterName(other) != t.name {
			continue
		}
		why, err := r.rival(ctx, t, key, project)
		if err != nil {
			return nil, err
		}
		if why != "" {
			found = append(found, key.String()+" "+why)
		}
	}
	return found, nil
}

// rival says why a cluster of the same name has to be minded, "" when not.
func (r *reconciler) rival(ctx context.Context, t *target, key types.NamespacedName, project string) (string, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(clusterKind())
	if err := r.reader.Get(ctx, key, object); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	other := read(object)
	if other.neverProvisioned() || object.GetDeletionTimestamp() != nil && other.deletesVolumes(r.options) {
		return "", nil // it has nothing, or all of it is to go anyway
	}
	credential, err := r.credential(ctx, other)
	if errors.Is(err, errNoCredential) {
		return "may be in the same project: " + err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	opened, token, err := credential.open(ctx)
	if errors.Is(err, errNoCredential) {
		return "may be in the same project: " + err.Error(), nil
	}
	if err != nil {
		return "", err
	}
	opened.Close()
	if token.ProjectID != project {
		return "", nil
	}
	for _, pair := range [][2]set{{t.networks, other.networks}, {t.subnets, other.subnets}, {t.routers, other.routers}} {
		for id := range pair[1] {
			delete(pair[0], id)
		}
	}
	return "is in the same project", nil
}
