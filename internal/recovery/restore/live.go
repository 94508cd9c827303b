package restore

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
)

// page is how many objects one request lists.
const page = 500

// Live are all objects of the cluster that are of the kinds of a plan and of what it needs, of
// all namespaces.
func Live(ctx context.Context, on *kube.Cluster, plan *recovery.Plan) ([]*unstructured.Unstructured, error) {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, o := range slices.Concat(slices.Concat(plan.Steps...), plan.Needed) {
		kinds[o.GroupVersionKind()] = true
	}
	found := make([][]*unstructured.Unstructured, len(kinds))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	i := 0
	for kind := range kinds {
		to := &found[i]
		i++
		group.Go(func() (err error) {
			*to, err = everyOf(ctx, on, kind)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, some := range found {
		all = append(all, some...)
	}
	return all, nil
}

// Find looks for what the one cluster of a plan needs of others, and makes what is not there a
// part of the plan. It returns all objects of these kinds, and changes nothing on the cluster.
func Find(ctx context.Context, on *kube.Cluster, plan *recovery.Plan) ([]*unstructured.Unstructured, error) {
	live, err := Live(ctx, on, &recovery.Plan{Needed: plan.Needed})
	if err != nil {
		return nil, err
	}
	plan.Bring(live)
	return live, nil
}

// everyOf lists the objects of a kind.
func everyOf(ctx context.Context, on *kube.Cluster, kind schema.GroupVersionKind) (all []*unstructured.Unstructured, err error) {
	resource, err := on.Everywhere(kind)
	if kube.Absent(err) { // its definition comes with the restore
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", kind.Kind, err)
	}
	for next := ""; ; {
		var list *unstructured.UnstructuredList
		err := patiently(ctx, on, func() (err error) {
			list, err = resource.List(ctx, metav1.ListOptions{Limit: page, Continue: next})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			list.Items[i].SetGroupVersionKind(kind)
			all = append(all, &list.Items[i])
		}
		if next = list.GetContinue(); next == "" {
			return all, nil
		}
	}
}
