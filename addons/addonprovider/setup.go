// Package addonprovider maintains Helm releases and manifests on the clusters that Cluster API
// makes: the controllers of addons.stackhpc.com/v1alpha1.
package addonprovider

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/slipway-sh/slipway/addons/addonprovider/target"
	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/internal/charts"
)

// Setup adds the controllers to a manager. It has its own cache and uses only the configuration and
// the events of the manager. The definitions of v1alpha1 must be on the cluster; those of Cluster
// API may come later.
func Setup(mgr manager.Manager, options Options) error {
	options, err := options.complete()
	if err != nil {
		return err
	}
	if err := v1alpha1.Builder().AddToScheme(mgr.GetScheme()); err != nil {
		return fmt.Errorf("adding addons to the scheme: %w", err)
	}
	store, err := charts.NewStore(charts.Options{
		Dir: options.ChartsDir, CacheDir: options.CacheDir, CacheSize: options.CacheSize, Offline: options.Offline,
		Mirrors: options.Mirrors, TrustBundleFile: options.TrustBundleFile,
	})
	if err != nil {
		return err
	}
	management, err := newManagement(mgr, options.Namespace)
	if err != nil {
		return err
	}
	if err := mgr.Add(management); err != nil {
		return fmt.Errorf("adding cache of addons: %w", err)
	}
	s := &setup{mgr: mgr, management: management, options: options, store: store, identities: newIdentities(),
		clusters: options.Clusters, watches: &watches{cache: management.GetCache(), have: map[schema.GroupVersionKind]bool{}}}
	if err := s.add("HelmRelease", func() addon { return &v1alpha1.HelmRelease{} }, func() client.ObjectList { return &v1alpha1.HelmReleaseList{} }); err != nil {
		return err
	}
	return s.add("Manifests", func() addon { return &v1alpha1.Manifests{} }, func() client.ObjectList { return &v1alpha1.ManifestsList{} })
}

// newManagement returns the management cluster with a cache for what addons need: Secrets and
// ConfigMaps are cached by name and labels only, everything else of them is read when it is needed,
// and only labelled ones are watched.
func newManagement(mgr manager.Manager, namespace string) (cluster.Cluster, error) {
	watched, err := labels.NewRequirement(v1alpha1.WatchLabel, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("selecting sources of addons: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.Builder().AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("creating scheme of addons: %w", err)
	}
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS, config.Burst = 100, 200
	sources := cache.ByObject{Label: labels.NewSelector().Add(*watched), Transform: namesOnly}
	management, err := cluster.New(config, func(o *cluster.Options) {
		o.Scheme = scheme
		if namespace != "" {
			o.Cache.DefaultNamespaces = map[string]cache.Config{namespace: {}}
		}
		o.Cache.DefaultTransform = cache.TransformStripManagedFields()
		o.Cache.ByObject = map[client.Object]cache.ByObject{&corev1.Secret{}: sources, &corev1.ConfigMap{}: sources}
		o.Client.Cache = &client.CacheOptions{Unstructured: true, DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}
	})
	if err != nil {
		return nil, fmt.Errorf("creating cache of addons: %w", err)
	}
	return management, nil
}

// namesOnly keeps only what identifies a source.
func namesOnly(object any) (any, error) {
	if m, ok := object.(*metav1.PartialObjectMetadata); ok {
		m.Annotations, m.ManagedFields, m.OwnerReferences, m.Finalizers = nil, nil, nil, nil
	}
	return object, nil
}

type setup struct {
	mgr        manager.Manager
	management cluster.Cluster
	options    Options
	store      *charts.Store
	clusters   *target.Clusters
	watches    *watches
	identities *identities
}

// add adds the controller of one kind of addon.
func (s *setup) add(kind string, newAddon func() addon, newList func() client.ObjectList) error {
	events := make(chan event.GenericEvent, 1024)
	jobs := newWork(nil)
	jobs.notify = func(key types.NamespacedName) {
		object := newAddon()
		object.SetNamespace(key.Namespace)
		object.SetName(key.Name)
		select {
		case events <- event.GenericEvent{Object: object}:
		case <-jobs.ctx.Done():
		}
	}
	if err := s.mgr.Add(jobs); err != nil {
		return fmt.Errorf("adding work on %s: %w", kind, err)
	}
	r := &reconciler{newAddon: newAddon, options: s.options, client: s.management.GetClient(), live: s.management.GetAPIReader(),
		watches: s.watches, charts: s.store, clusters: s.clusters, work: jobs, memory: newMemory(s.options.RetryDelay), writes: newWrites(),
		identities: s.identities, events: s.mgr.GetEventRecorderFor("addon-provider")}
	if err := s.index(newAddon()); err != nil {
		return err
	}
	c, err := controller.New("addon-"+kind, s.mgr, controller.Options{Reconciler: r, MaxConcurrentReconciles: 8})
	if err != nil {
		return fmt.Errorf("creating controller of %s: %w", kind, err)
	}
	f := &finder{client: s.management.GetClient(), newList: newList, identities: s.identities}
	s.watches.parts = append(s.watches.parts, part{c, f})
	return s.watch(c, f, newAddon(), events)
}

func (s *setup) index(object addon) error {
	indexer := s.management.GetFieldIndexer()
	byCluster := func(o client.Object) []string {
		a, ok := o.(addon)
		if !ok {
			return nil
		}
		return []string{a.Addon().ClusterName}
	}
	if err := indexer.IndexField(context.Background(), object, clusterIndex, byCluster); err != nil {
		return fmt.Errorf("indexing addons: %w", err)
	}
	if err := indexer.IndexField(context.Background(), object, sourceIndex, references); err != nil {
		return fmt.Errorf("indexing addons: %w", err)
	}
	return nil
}

// watch adds the watches that always exist.
func (s *setup) watch(c controller.Controller, f *finder, object addon, events chan event.GenericEvent) error {
	objects := s.management.GetCache()
	sources := []source.Source{
		source.Kind[client.Object](objects, object, &handler.EnqueueRequestForObject{}, specChanged()),
		source.Channel(events, &handler.EnqueueRequestForObject{}),
	}
	for _, kind := range []string{"Secret", "ConfigMap"} {
		metadata := &metav1.PartialObjectMetadata{}
		metadata.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
		sources = append(sources, source.Kind[client.Object](objects, metadata, handler.EnqueueRequestsFromMapFunc(f.ofSource(kind))))
	}
	for _, src := range sources {
		if err := c.Watch(src); err != nil {
			return fmt.Errorf("watching: %w", err)
		}
	}
	return nil
}

// specChanged passes changes other than those of the controller's own status.
func specChanged() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{})
}
