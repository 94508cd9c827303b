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

// withoutHook ends the wait for the control plane's controller, which would first take the
// machine's member out of etcd. It refuses to do so while only one control plane node is left
// ("cluster has fewer than 2 control plane nodes"), also if etcd does not have the member.
const withoutHook = `{"metadata":{"annotations":{"pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup":null}}}`

// DeleteLostMachine deletes a Machine whose server is gone, so that its owner makes
// another. Its etcd must have no member of the machine any more. It is no error if the
// Machine is gone.
func DeleteLostMachine(ctx context.Context, client dynamic.Interface, namespace, name string) error {
	of := client.Resource(machines).Namespace(namespace)
	_, err := of.Patch(ctx, name, types.MergePatchType, []byte(withoutMachine), metav1.PatchOptions{})
	if err == nil {
		err = of.Delete(ctx, name, metav1.DeleteOptions{})
	}
	if err == nil { // only now: the controller adds the hook to Machines that are not being deleted
		_, err = of.Patch(ctx, name, types.MergePatchType, []byte(withoutHook), metav1.PatchOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting Machine %s, whose server is gone: %w", name, err)
	}
	return nil
}
