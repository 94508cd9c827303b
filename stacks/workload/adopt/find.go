package adopt

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/workload"
)

// chartName is the name of capi-helm-charts' chart, which Slipway's has too.
const chartName = "openstack-cluster"

// found is a Cluster of Cluster API, or a release without one.
type found struct {
	key     workload.Key
	cluster *unstructured.Unstructured
	release *helmrelease.Release
}

// find returns the clusters of a name, or all, by namespace and name.
func (s Site) find(ctx context.Context, name, namespace string) ([]found, error) {
	all := map[workload.Key]*found{}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(clusterKind.WithKind("ClusterList"))
	if err := s.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		if !noKind(err) {
			return nil, fmt.Errorf("listing clusters: %w", err)
		}
		return nil, fault.New("management cluster", fmt.Errorf("it has no Cluster of cluster.x-k8s.io/v1beta2"),
			"use the kubeconfig of the cluster that Cluster API runs on, with Cluster API 1.11 or later: older ones must be upgraded first")
	}
	for i := range list.Items {
		o := &list.Items[i]
		if name == "" || o.GetName() == name {
			key := workload.Key{Namespace: o.GetNamespace(), Name: o.GetName()}
			all[key] = &found{key: key, cluster: o}
		}
	}
	if err := s.releases(ctx, name, namespace, all); err != nil {
		return nil, err
	}
	var sorted []found
	for _, key := range slices.SortedFunc(maps.Keys(all), func(a, b workload.Key) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	}) {
		sorted = append(sorted, *all[key])
	}
	return sorted, nil
}

// releases adds Helm's latest revisions: those of clusters, and those of the chart whose
// cluster is not there.
func (s Site) releases(ctx context.Context, name, namespace string, all map[workload.Key]*found) error {
	labels := client.MatchingLabels{"owner": "helm"}
	if name != "" {
		labels["name"] = name
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := s.Client.List(ctx, list, client.InNamespace(namespace), labels); err != nil {
		return fmt.Errorf("listing releases: %w", err)
	}
	keys := map[workload.Key]bool{}
	for _, secret := range list.Items {
		keys[workload.Key{Namespace: secret.Namespace, Name: secret.Labels["name"]}] = true
	}
	for key := range keys {
		release, err := s.Releases.Last(key.Namespace, key.Name)
		if err != nil {
			return err
		}
		if release == nil || release.Chart == nil || release.Chart.Metadata == nil {
			continue
		}
		if one := all[key]; one != nil {
			one.release = release
		} else if release.Chart.Name() == chartName && release.Info.Status != helmrelease.StatusUninstalled {
			all[key] = &found{key: key, release: release}
		}
	}
	return nil
}

func join(words []string) string { return strings.Join(words, ", ") }
