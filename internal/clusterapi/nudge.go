package clusterapi

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/internal/kube"
)

// Nudge has Cluster API's OpenStack provider look at a cluster at once, by an annotation on
// its objects. The provider does not watch Secrets, and after failures it looks again only
// after minutes.
func Nudge(ctx context.Context, client dynamic.Interface, namespace, name, annotation, value string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{annotation: value}}})
	if err != nil {
		return fmt.Errorf("encoding annotations: %w", err)
	}
	touch := func(kind schema.GroupVersionResource, object string) error {
		_, err := client.Resource(kind).Namespace(namespace).Patch(ctx, object, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "slipway"})
		if err != nil && !kube.Absent(err) {
			return fmt.Errorf("annotating %s %s: %w", kind.Resource, object, err)
		}
		return nil
	}
	infrastructure, err := infrastructureOf(ctx, client, namespace, name)
	if err != nil {
		return err
	}
	if err := touch(openStackClusters, infrastructure); err != nil {
		return err
	}
	for _, kind := range []schema.GroupVersionResource{openStackMachines, openStackServers} {
		list, err := client.Resource(kind).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: Label + "=" + name})
		if kube.Absent(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("listing %s: %w", kind.Resource, err)
		}
		for _, o := range list.Items {
			if err := touch(kind, o.GetName()); err != nil {
				return err
			}
		}
	}
	return nil
}
