package clusterapi

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// withoutMachine keeps Cluster API from waiting for a node that nobody can drain, and for
// volumes that nobody unmounts there.
const withoutMachine = `{"metadata":{"annotations":{"machine.cluster.x-k8s.io/exclude-node-draining":"","machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach":""}}}`

// DeleteLostMachine deletes a Machine whose server is gone, so that its owner makes
// another. It is no error if the Machine is gone.
func DeleteLostMachine(ctx context.Context, client dynamic.Interface, namespace, name string) error {
	of := client.Resource(machines).Namespace(namespace)
	_, err := of.Patch(ctx, name, types.MergePatchType, []byte(withoutMachine), metav1.PatchOptions{})
	if err == nil {
		err = of.Delete(ctx, name, metav1.DeleteOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting Machine %s, whose server is gone: %w", name, err)
	}
	return nil
}
