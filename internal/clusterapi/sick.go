package clusterapi

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// fewNamespaces is how many namespaces are read one by one; with more, all are read at once.
const fewNamespaces = 20

// ReadSick reads the clusters that Cluster API itself calls not available, of those that
// wanted chooses. What is well costs one list.
func ReadSick(ctx context.Context, client dynamic.Interface, wanted func(*unstructured.Unstructured) bool) (Clusters, error) {
	sick := map[string]map[string]bool{}
	err := list(ctx, client, clusters, metav1.NamespaceAll, "", func(cluster *unstructured.Unstructured) {
		if available := find(conditions(cluster), "Available"); available.Status == "True" && cluster.GetDeletionTimestamp() == nil || !wanted(cluster) {
			return
		}
		if sick[cluster.GetNamespace()] == nil {
			sick[cluster.GetNamespace()] = map[string]bool{}
		}
		sick[cluster.GetNamespace()][cluster.GetName()] = true
	})
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return Clusters{}, nil
	}
	if err != nil {
		return Clusters{}, fmt.Errorf("listing clusters: %w", err)
	}
	found := Clusters{of: map[key]objects{}}
	in := []string{metav1.NamespaceAll}
	if len(sick) <= fewNamespaces {
		in = in[:0]
		for namespace := range sick {
			in = append(in, namespace)
		}
	}
	for _, namespace := range in {
		all, err := ReadAll(ctx, client, namespace)
		if err != nil {
			return Clusters{}, err
		}
		for _, k := range all.keys {
			if sick[k.Namespace][k.Name] {
				found.of[k], found.keys = all.of[k], append(found.keys, k)
			}
		}
	}
	return found, nil
}
