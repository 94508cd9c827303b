package controller

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/slipway-sh/slipway/addons/magnum/observe"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// The pauses after failures: the first, and the longest.
const (
	firstPause   = time.Second
	longestPause = 5 * time.Minute
	// syncTime is how long the definitions of other providers may be missing.
	syncTime = 10 * time.Minute
)

// watch starts the controller on what is news of a cluster.
func (r *reconciler) watch(mgr manager.Manager, kept cache.Cache) error {
	c, err := controller.New("magnum", mgr, controller.Options{
		Reconciler: r, MaxConcurrentReconciles: r.Concurrency, CacheSyncTimeout: syncTime,
		UsePriorityQueue: ptr.To(true),
		RateLimiter:      workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstPause, longestPause),
		// Names of controllers are unique in a process for the sake of metrics;
		// tests have several of this one.
		SkipNameValidation: ptr.To(true),
	})
	if err != nil {
		return fmt.Errorf("creating the controller: %w", err)
	}
	asked := func(o client.Object, h handler.EventHandler, p ...predicate.Predicate) source.Source {
		return source.Kind(kept, o, asRequests(h), p...)
	}
	watches := []source.Source{
		asked(&v1alpha1.Cluster{}, &handler.EnqueueRequestForObject{}, specChanged()),
		asked(&v1alpha1.NodeGroup{}, handler.EnqueueRequestsFromMapFunc(ofGroup), specChanged()),
		asked(&v1alpha1.ClusterTemplate{}, handler.EnqueueRequestsFromMapFunc(r.ofTemplate), specChanged()),
		asked(secretMetadata(), handler.EnqueueRequestsFromMapFunc(r.ofStack)),
	}
	for _, k := range watched() {
		watches = append(watches, source.Kind[client.Object](kept, k.object(), handler.EnqueueRequestsFromMapFunc(r.ofStack)))
	}
	for _, w := range watches {
		if err := c.Watch(w); err != nil {
			return fmt.Errorf("watching: %w", err)
		}
	}
	return nil
}

// specChanged lets through what somebody else may have written: a new
// generation, a beginning deletion, other metadata. The controller's own
// statuses are no news to it.
func specChanged() predicate.Predicate {
	metadata := predicate.Or[client.Object](predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	deleted := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
			len(e.ObjectOld.GetFinalizers()) != len(e.ObjectNew.GetFinalizers())
	}}
	return predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, metadata, deleted)
}

func ofGroup(_ context.Context, o client.Object) []reconcile.Request {
	g := o.(*v1alpha1.NodeGroup)
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: g.Namespace, Name: g.Spec.ClusterName}}}
}

// ofTemplate finds clusters that wait for a template; those that have taken
// their copy do not care.
func (r *reconciler) ofTemplate(ctx context.Context, o client.Object) []reconcile.Request {
	var clusters v1alpha1.ClusterList
	if err := r.client.List(ctx, &clusters, client.MatchingFields{indexTemplate: o.GetNamespace() + "/" + o.GetName()}); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range clusters.Items {
		if c := &clusters.Items[i]; c.Spec.Template == nil || c.Spec.Template.UUID != o.(*v1alpha1.ClusterTemplate).UUID() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(c)})
		}
	}
	return requests
}

// ofStack finds the cluster that an object of Cluster API or an addon is of.
func (r *reconciler) ofStack(ctx context.Context, o client.Object) []reconcile.Request {
	stack := o.GetLabels()[observe.LabelStack]
	for _, label := range []string{v1alpha1.LabelStack, "addons.stackhpc.com/cluster"} {
		if stack == "" {
			stack = o.GetLabels()[label]
		}
	}
	if stack == "" {
		stack = o.GetName()
	}
	var clusters v1alpha1.ClusterList
	if err := r.client.List(ctx, &clusters, client.InNamespace(o.GetNamespace()), client.MatchingFields{indexStack: stack}); err != nil {
		return nil
	}
	requests := make([]reconcile.Request, 0, len(clusters.Items))
	for i := range clusters.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&clusters.Items[i])})
	}
	return requests
}
