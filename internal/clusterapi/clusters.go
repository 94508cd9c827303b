package clusterapi

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/internal/cause"
)

// Clusters are the clusters of several namespaces with their objects, read once.
type Clusters map[string]objects

// Known is what is known of a cluster besides its objects.
type Known struct {
	// Cloud and Inside are what its cloud and the cluster itself say; nil means that they
	// were not asked, and Unseen may say why.
	Cloud  *cause.Cloud
	Inside *cause.Inside
	Unseen []cause.Unseen
	// Controllers are those that look after it; nil means that nobody asked about them.
	Controllers []cause.Controller
}

// Reports assesses the clusters, with what the cloud says of each: nothing if said is
// nil or returns nil.
func (all Clusters) Reports(said func(namespace, name string) *cause.Cloud, now time.Time) []Report {
	return all.Judge(func(namespace, name string) (k Known) {
		if said != nil {
			k.Cloud = said(namespace, name)
		}
		return k
	}, now)
}

// Judge assesses the clusters with what is known of each.
func (all Clusters) Judge(known func(namespace, name string) Known, now time.Time) []Report {
	var reports []Report
	for _, in := range slices.Sorted(maps.Keys(all)) {
		for _, cluster := range all[in][clusters] {
			report := judge(all[in], cluster.GetName(), known(in, cluster.GetName()), now)
			report.Namespace = in
			reports = append(reports, report)
		}
	}
	return reports
}

// Scene returns the objects of a cluster as the engine of causes reads them.
func (all Clusters) Scene(namespace, name string) cause.Objects {
	if all[namespace].named(clusters, name) == nil {
		return nil
	}
	return all[namespace].scene(name)
}

// warnings reads the warning events of the namespaces that hold clusters, and the events
// that take one back; none if they cannot be read, because causes are found without them too.
func (all Clusters) warnings(ctx context.Context, client dynamic.Interface, namespace string) {
	ctx, cancel := context.WithTimeout(ctx, eventTime)
	defer cancel()
	list, err := client.Resource(eventKind).Namespace(namespace).List(ctx, metav1.ListOptions{FieldSelector: "type=Warning"})
	if err != nil {
		return
	}
	failed := map[string]bool{}
	keep := func(items []unstructured.Unstructured) {
		for i := range items {
			item := &items[i]
			if o := all[item.GetNamespace()]; o != nil && len(o[clusters]) > 0 {
				o[eventKind] = append(o[eventKind], item)
				if what, ok := strings.CutPrefix(text(item, "reason"), "Failed"); ok {
					failed[what] = true
				}
			}
		}
	}
	keep(list.Items)
	for _, what := range slices.Sorted(maps.Keys(failed)) { // what succeeded later takes a failure back
		if list, err = client.Resource(eventKind).Namespace(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=Successful" + what}); err == nil {
			keep(list.Items)
		}
	}
}

// Identity returns the Secret with the cluster's credential and the entry in its
// clouds.yaml; empty if the cluster has no OpenStackCluster yet.
func (all Clusters) Identity(namespace, name string) (secret, cloud string) {
	cluster := all[namespace].named(clusters, name)
	if cluster == nil {
		return "", ""
	}
	infrastructure := all[namespace].named(openStackClusters, text(cluster, "spec", "infrastructureRef", "name"))
	if infrastructure == nil {
		return "", ""
	}
	return text(infrastructure, "spec", "identityRef", "name"), text(infrastructure, "spec", "identityRef", "cloudName")
}
