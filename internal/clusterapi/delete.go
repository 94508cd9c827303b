package clusterapi

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Delete deletes a cluster with its machines and waits until it is gone; it is no
// error if the cluster does not exist. First it sets the annotations on the
// OpenStackCluster: they decide what happens to resources that workloads created.
// progress is as in Await.
func Delete(ctx context.Context, client dynamic.Interface, namespace, name string, annotations map[string]string, progress func(Report)) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return fmt.Errorf("encoding annotations: %w", err)
	}
	_, err = client.Resource(openStackClusters).Namespace(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "slipway"})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("annotating OpenStackCluster %s: %w", name, err)
	}
	foreground := metav1.DeletePropagationForeground
	err = client.Resource(clusters).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &foreground})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("deleting the cluster: %w", err)
	}
	_, err = await(ctx, client, namespace, name, goal{done: func(r Report) bool { return !r.Exists }, ends: stuck}, progress)
	return err
}

// stuck reports whether a deletion cannot complete. The cause that kept a machine or
// a server group from becoming ready does not keep it from being deleted.
func stuck(p Part) bool { return p.Hopeless && p.Kind != "Machine" && p.Kind != "ServerGroup" }
