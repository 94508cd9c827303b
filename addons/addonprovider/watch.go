package addonprovider

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

// Indexes of addons in the cache.
const (
	clusterIndex = "cluster"
	sourceIndex  = "source"
)

// watcher makes sure that the objects of a kind are watched.
type watcher interface {
	ensure(ctx context.Context, kind schema.GroupVersionKind) error
}

// watches adds watches for Cluster API's kinds when they are first needed: their definitions may
// come later than the controllers, and only the clusters say which infrastructure there is.
type watches struct {
	cache cache.Cache
	// parts are, for each kind of addon, a controller and a finder of its addons.
	parts []part

	mu   sync.Mutex
	have map[schema.GroupVersionKind]bool
}

type part struct {
	controller controller.Controller
	finder     *finder
}

func (w *watches) ensure(_ context.Context, kind schema.GroupVersionKind) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.have[kind] {
		return nil
	}
	for _, p := range w.parts {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		find := p.finder.ofInfra
		if kind.GroupKind() == clusterKind() {
			find = p.finder.ofCluster
		}
		events := handler.TypedEnqueueRequestsFromMapFunc(find)
		if err := p.controller.Watch(source.Kind(w.cache, object, events, significant())); err != nil {
			return fmt.Errorf("watching %s: %w", kind.Kind, err)
		}
	}
	w.have[kind] = true
	return nil
}

// significant passes the changes that templates or gates could see, but not those of heartbeats and
// of messages in conditions.
func significant() predicate.TypedPredicate[*unstructured.Unstructured] {
	return predicate.TypedFuncs[*unstructured.Unstructured]{
		UpdateFunc: func(e event.TypedUpdateEvent[*unstructured.Unstructured]) bool {
			return !reflect.DeepEqual(essence(e.ObjectOld), essence(e.ObjectNew))
		},
	}
}

// essence is the part of a Cluster API object whose changes matter.
func essence(object *unstructured.Unstructured) map[string]any {
	status := map[string]any{}
	if all, ok := object.Object["status"].(map[string]any); ok {
		for key, value := range all {
			switch key {
			case "conditions", "v1beta2", "deprecated", "observedGeneration":
			default:
				status[key] = value
			}
		}
	}
	return map[string]any{
		"spec": object.Object["spec"], "status": status, "labels": object.GetLabels(), "annotations": object.GetAnnotations(),
		"deleted": object.GetDeletionTimestamp() != nil, "uid": object.GetUID(),
		"initialised": condition(object, "ControlPlaneInitialized"), "ready": condition(object, "Ready") || condition(object, "Available"),
		"workerless": workerless(object),
	}
}

// finder finds the addons of one kind that a change of another object concerns.
type finder struct {
	client  client.Client
	newList func() client.ObjectList
	// identities knows which Secrets are credentials of clusters.
	identities *identities
}

func (f *finder) list(ctx context.Context, namespace, index, value string) []reconcile.Request {
	list := f.newList()
	if err := f.client.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{index: value}); err != nil {
		return nil
	}
	var requests []reconcile.Request
	add := func(object client.Object) {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)})
	}
	switch l := list.(type) {
	case *v1alpha1.HelmReleaseList:
		for i := range l.Items {
			add(&l.Items[i])
		}
	case *v1alpha1.ManifestsList:
		for i := range l.Items {
			add(&l.Items[i])
		}
	}
	return requests
}

func (f *finder) ofCluster(ctx context.Context, cluster *unstructured.Unstructured) []reconcile.Request {
	return f.list(ctx, cluster.GetNamespace(), clusterIndex, cluster.GetName())
}

// ofInfra finds the addons of the clusters that refer to an infrastructure cluster. It only reads
// the clusters, and does not copy them: when the controllers start, each of a thousand
// infrastructure clusters asks for all of them.
func (f *finder) ofInfra(ctx context.Context, infra *unstructured.Unstructured) []reconcile.Request {
	mapping, err := f.client.RESTMapper().RESTMapping(clusterKind())
	if err != nil {
		return nil
	}
	clusters := &unstructured.UnstructuredList{}
	clusters.SetGroupVersionKind(mapping.GroupVersionKind)
	if err := f.client.List(ctx, clusters, client.InNamespace(infra.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range clusters.Items {
		kind, name, ok := infraRef(&clusters.Items[i])
		if ok && name == infra.GetName() && kind == infra.GroupVersionKind().GroupKind() {
			requests = append(requests, f.ofCluster(ctx, &clusters.Items[i])...)
		}
	}
	return requests
}

// ofSource finds the addons that refer to a Secret or ConfigMap, or to whose cluster it is the
// credential.
func (f *finder) ofSource(kind string) func(context.Context, client.Object) []reconcile.Request {
	return func(ctx context.Context, object client.Object) []reconcile.Request {
		requests := f.list(ctx, object.GetNamespace(), sourceIndex, kind+"/"+object.GetName())
		if kind == "Secret" {
			for _, cluster := range f.identities.clusters(client.ObjectKeyFromObject(object)) {
				requests = append(requests, f.list(ctx, object.GetNamespace(), clusterIndex, cluster)...)
			}
		}
		return requests
	}
}

// references are the Secrets and ConfigMaps that an addon refers to, as kind/name.
func references(object client.Object) []string {
	var all []string
	add := func(kind, name string) { all = append(all, kind+"/"+name) }
	switch o := object.(type) {
	case *v1alpha1.HelmRelease:
		for _, s := range o.Spec.ValuesSources {
			if s.ConfigMap != nil {
				add("ConfigMap", s.ConfigMap.Name)
			}
			if s.Secret != nil {
				add("Secret", s.Secret.Name)
			}
		}
	case *v1alpha1.Manifests:
		for _, s := range o.Spec.ManifestSources {
			if s.ConfigMap != nil {
				add("ConfigMap", s.ConfigMap.Name)
			}
			if s.Secret != nil {
				add("Secret", s.Secret.Name)
			}
		}
	}
	return all
}

// identities remembers which Secret is the credential of which clusters.
type identities struct {
	mu       sync.Mutex
	byName   map[types.NamespacedName]string // of clusters
	bySecret map[types.NamespacedName]map[string]bool
}

func newIdentities() *identities {
	return &identities{byName: map[types.NamespacedName]string{}, bySecret: map[types.NamespacedName]map[string]bool{}}
}

// set records the credential of a cluster; it is empty if the cluster has none.
func (i *identities) set(cluster types.NamespacedName, secret string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if old, ok := i.byName[cluster]; ok && old != secret {
		key := types.NamespacedName{Namespace: cluster.Namespace, Name: old}
		if delete(i.bySecret[key], cluster.Name); len(i.bySecret[key]) == 0 {
			delete(i.bySecret, key)
		}
	}
	if secret == "" {
		delete(i.byName, cluster)
		return
	}
	i.byName[cluster] = secret
	key := types.NamespacedName{Namespace: cluster.Namespace, Name: secret}
	if i.bySecret[key] == nil {
		i.bySecret[key] = map[string]bool{}
	}
	i.bySecret[key][cluster.Name] = true
}

func (i *identities) clusters(secret types.NamespacedName) []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var names []string
	for name := range i.bySecret[secret] {
		names = append(names, name)
	}
	return names
}
