package clusterapi

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/internal/cause"
)

// key names a cluster.
type key = types.NamespacedName

// Clusters are the clusters of several namespaces with their objects, read once.
type Clusters struct {
	// of are the objects of each cluster, keys the clusters in the order of their namespaces.
	of   map[key]objects
	keys []key
}

// gather puts the objects of namespaces in order: by cluster.
func gather(namespaces map[string]objects) Clusters {
	all := Clusters{of: map[key]objects{}}
	for _, in := range slices.Sorted(maps.Keys(namespaces)) {
		parts := namespaces[in].split()
		for _, cluster := range namespaces[in][clusters] {
			k := key{Namespace: in, Name: cluster.GetName()}
			all.of[k], all.keys = parts[k.Name], append(all.keys, k)
		}
	}
	return all
}

// Known is what is known of a cluster besides its objects.
type Known struct {
	// Cloud and Inside are what its cloud and the cluster itself say; nil means that they
	// were not asked, and Unseen may say why.
	Cloud  *cause.Cloud
	Inside *cause.Inside
	Unseen []cause.Unseen
	// Controllers are those that manage it; nil means that nobody asked about them.
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
	for _, k := range all.keys {
		report := judge(all.of[k], k.Name, known(k.Namespace, k.Name), now)
		report.Namespace = k.Namespace
		reports = append(reports, report)
	}
	return reports
}

// Outline assesses the clusters without looking for causes, for a choice among them.
func (all Clusters) Outline() []Report {
	var reports []Report
	for _, k := range all.keys {
		report, _ := outline(all.of[k], k.Name)
		report.Namespace = k.Namespace
		reports = append(reports, report)
	}
	return reports
}

// Cluster returns the Cluster of a name, nil if there is none.
func (all Clusters) Cluster(namespace, name string) *unstructured.Unstructured {
	return all.of[key{Namespace: namespace, Name: name}].named(clusters, name)
}

// Scene returns the objects of a cluster as the engine of causes reads them.
func (all Clusters) Scene(namespace, name string) cause.Objects {
	o := all.of[key{Namespace: namespace, Name: name}]
	if o == nil {
		return nil
	}
	return o.scene(name)
}

// warnings reads the warning events of the namespaces that hold clusters, and the events
// that take one back; none if they cannot be read, because causes are found without them too.
func warnings(ctx context.Context, client dynamic.Interface, namespace string, into map[string]objects) {
	ctx, cancel := context.WithTimeout(ctx, eventTime)
	defer cancel()
	wanted := func(item *unstructured.Unstructured) bool { return len(into[item.GetNamespace()][clusters]) > 0 }
	keep := func(item *unstructured.Unstructured) {
		into[item.GetNamespace()][eventKind] = append(into[item.GetNamespace()][eventKind], item)
	}
	failed := map[string]bool{}
	err := list(ctx, client, eventKind, namespace, "type=Warning", func(item *unstructured.Unstructured) {
		if !wanted(item) {
			return
		}
		keep(item)
		if what, ok := strings.CutPrefix(text(item, "reason"), "Failed"); ok {
			failed[what] = true
		}
	})
	if err != nil {
		return
	}
	reasons := slices.Sorted(maps.Keys(failed)) // what succeeded later takes a failure back
	back := make([][]*unstructured.Unstructured, len(reasons))
	var group errgroup.Group
	group.SetLimit(listsAtOnce)
	for i, what := range reasons {
		group.Go(func() error {
			return list(ctx, client, eventKind, namespace, "reason=Successful"+what, func(item *unstructured.Unstructured) {
				if wanted(item) {
					back[i] = append(back[i], item)
				}
			})
		})
	}
	_ = group.Wait() // what could be read counts
	for _, item := range slices.Concat(back...) {
		keep(item)
	}
}

// listsAtOnce is how many lists of one cluster are read at the same time: on a slow way, or a
// slow machine, each takes a second, and each is held while it is read.
const listsAtOnce = 6

// page is how many objects are read at a time: a whole list of a large kind is held more than
// once while it is read.
const page = 500

// list reads all objects of a kind, without what only servers need of them.
func list(ctx context.Context, client dynamic.Interface, kind schema.GroupVersionResource, namespace, fields string, keep func(*unstructured.Unstructured)) error {
	o := metav1.ListOptions{FieldSelector: fields, Limit: page}
	for {
		found, err := client.Resource(kind).Namespace(namespace).List(ctx, o)
		var gone apierrors.APIStatus
		if o.Continue != "" && apierrors.IsResourceExpired(err) && errors.As(err, &gone) && gone.Status().Continue != "" {
			o.Continue = gone.Status().Continue // the rest as it is now
			continue
		}
		if err != nil {
			return err
		}
		for i := range found.Items {
			unstructured.RemoveNestedField(found.Items[i].Object, "metadata", "managedFields")
			keep(&unstructured.Unstructured{Object: found.Items[i].Object})
		}
		if o.Continue = found.GetContinue(); o.Continue == "" {
			return nil
		}
	}
}

// identity is how a cluster logs in; empty if it has no OpenStackCluster yet.
func (all Clusters) identity(namespace, name string) identity {
	return all.of[key{Namespace: namespace, Name: name}].identity(name)
}

// identity is that of a cluster in one namespace.
func (o objects) identity(name string) identity {
	cluster := o.named(clusters, name)
	if cluster == nil {
		return identity{}
	}
	infrastructure := o.named(openStackClusters, text(cluster, "spec", "infrastructureRef", "name"))
	if infrastructure == nil {
		return identity{}
	}
	return identityIn(infrastructure)
}
