package move

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	"github.com/slipway-sh/slipway/internal/kube"
)

// drop deletes objects as clusterctl does after it has moved them: with clusterctl's annotation,
// which makes controllers leave alone what the objects represent, and without their finalizers.
// Objects that are owned by others are deleted first. If the Cluster is not paused, drop refuses:
// its controllers are at work.
func (s Side) drop(ctx context.Context, cluster types.NamespacedName, among inventory) error {
	if live, err := s.cluster(ctx, cluster); err != nil {
		return err
	} else if live != nil && !paused(live) {
		return fmt.Errorf("cluster %s on the %s is not paused, so it may be in use: nothing of it is deleted there", cluster, s.Name)
	}
	own, _, err := s.objects(ctx, cluster)
	if err != nil {
		return err
	}
	for _, o := range slices.Backward(own) {
		if _, known := among[o.key()]; !known {
			continue
		}
		if err := s.dropOne(ctx, o); err != nil {
			return fmt.Errorf("deleting %s on the %s: %w", kube.Describe(o.Unstructured), s.Name, err)
		}
	}
	return nil
}

func (s Side) dropOne(ctx context.Context, o object) error {
	client := s.Kube.Dynamic.Resource(o.resource).Namespace(o.GetNamespace())
	patch := func(text string) error {
		_, err := client.Patch(ctx, o.GetName(), types.MergePatchType, []byte(text), metav1.PatchOptions{FieldManager: kube.FieldManager})
		return err
	}
	err := patch(`{"metadata":{"annotations":{"` + v1alpha3.DeleteForMoveAnnotation + `":""}}}`)
	if err == nil {
		// Whoever put an object of this name there since has another UID.
		uid := o.GetUID()
		err = client.Delete(ctx, o.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	}
	if err == nil && len(o.GetFinalizers()) > 0 {
		err = patch(`{"metadata":{"finalizers":null}}`)
	}
	if kube.Absent(err) {
		return nil
	}
	return err
}
