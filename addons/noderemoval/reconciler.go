package noderemoval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// reconciler watches Machines, and looks at those that are being deleted. The kind Machine itself,
// as long as it is not watched, is the Machine without a name.
type reconciler struct {
	mapper   meta.RESTMapper
	metadata metadata.Interface
	// live reads from the API server: Machines are deleted seldom.
	live    client.Reader
	write   client.Writer
	connect func(ctx context.Context, cluster types.NamespacedName) (kubernetes.Interface, error)
	// now and lookAgain are others in tests.
	now       func() time.Time
	lookAgain time.Duration

	// lifetime is of the watch.
	lifetime context.Context //nolint:containedctx // the manager's, from start to its end
	queue    workqueue.TypedRateLimitingInterface[types.NamespacedName]

	mu      sync.Mutex
	watched bool
}

// start takes the queue over, and has the first look.
func (r *reconciler) start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[types.NamespacedName]) error {
	r.lifetime, r.queue = ctx, queue
	queue.Add(types.NamespacedName{})
	return nil
}

// Reconcile brings the removal of a node a step further.
func (r *reconciler) Reconcile(ctx context.Context, name types.NamespacedName) (reconcile.Result, error) {
	if name.Name == "" {
		return r.watch()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 2*answerTime, fmt.Errorf("no answer within %s", 2*answerTime))
	defer cancel()
	object, err := r.get(ctx, "Machine", name)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("reading Machine %s: %w", name, err)
	}
	if err != nil {
		return reconcile.Result{}, nil
	}
	return r.remove(ctx, name, machineOf(object))
}

// watch begins to watch Machines once their kind is there.
func (r *reconciler) watch() (reconcile.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watched {
		return reconcile.Result{}, nil
	}
	mapping, err := r.mapper.RESTMapping(kind("Machine"))
	if meta.IsNoMatchError(err) {
		return reconcile.Result{RequeueAfter: r.lookAgain}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("finding kind Machine: %w", err)
	}
	informer := metadatainformer.NewFilteredMetadataInformer(r.metadata, mapping.Resource, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	changed := func(object any) {
		if m, ok := object.(*metav1.PartialObjectMetadata); ok && m.DeletionTimestamp != nil {
			r.queue.Add(types.NamespacedName{Namespace: m.Namespace, Name: m.Name})
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return reconcile.Result{}, fmt.Errorf("watching Machines: %w", err)
	}
	if err := informer.SetTransform(lean); err != nil {
		return reconcile.Result{}, fmt.Errorf("watching Machines: %w", err)
	}
	r.watched = true
	go informer.RunWithContext(r.lifetime)
	return reconcile.Result{}, nil
}

// lean keeps of a Machine what says that it is being deleted.
func lean(object any) (any, error) {
	if m, ok := object.(*metav1.PartialObjectMetadata); ok {
		m.ObjectMeta = metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, ResourceVersion: m.ResourceVersion, UID: m.UID, DeletionTimestamp: m.DeletionTimestamp}
	}
	return object, nil
}

// remove keeps a Machine's server until load balancers have left its node out for a while. What
// cannot be done holds no deletion up: a cluster that does not answer has no use for its node.
func (r *reconciler) remove(ctx context.Context, name types.NamespacedName, m machine) (reconcile.Result, error) {
	if !m.left.IsZero() {
		if rest := leaves - r.now().Sub(m.left); rest > 0 && rest <= leaves {
			return reconcile.Result{RequeueAfter: rest}, nil
		}
		return reconcile.Result{}, r.release(ctx, name, m)
	}
	if needed, err := r.needed(ctx, m); err != nil || !needed {
		return reconcile.Result{}, errors.Join(err, r.release(ctx, name, m))
	}
	left, err := r.leave(ctx, name, m)
	if err != nil {
		return reconcile.Result{}, errors.Join(err, r.release(ctx, name, m))
	}
	if !left {
		return reconcile.Result{}, nil // a change of the Machine says that it is drained
	}
	log.FromContext(ctx).Info("node left load balancers", "cluster", m.cluster.String(), "node", m.node)
	return reconcile.Result{RequeueAfter: leaves}, nil
}

// needed reports whether a node is removed from a cluster that goes on.
func (r *reconciler) needed(ctx context.Context, m machine) (bool, error) {
	if !m.leaving {
		return false, nil
	}
	cluster, err := r.get(ctx, "Cluster", m.cluster)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading Cluster %s: %w", m.cluster, err)
	}
	return err == nil && cluster.GetDeletionTimestamp() == nil, nil
}

// leave has a node leave the load balancers of its cluster, if there are some. Where one sends
// requests only to pods of the same node, the node stays until they are evicted.
func (r *reconciler) leave(ctx context.Context, name types.NamespacedName, m machine) (left bool, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("no answer within %s", answerTime))
	defer cancel()
	there, err := r.connect(limited, m.cluster)
	if err != nil {
		return false, err
	}
	found, err := balancers(limited, there)
	if err != nil {
		return false, err
	}
	if !found.any {
		return false, r.release(ctx, name, m)
	}
	if found.local && !m.drained {
		if m.held {
			return false, nil
		}
		return false, r.annotate(ctx, name, map[string]any{HookAnnotation: ""})
	}
	if err := exclude(limited, there, m.node); err != nil {
		return false, err
	}
	return true, r.annotate(ctx, name, map[string]any{HookAnnotation: "", LeftAnnotation: r.now().UTC().Format(time.RFC3339)})
}

// release lets Cluster API go on.
func (r *reconciler) release(ctx context.Context, name types.NamespacedName, m machine) error {
	if !m.held {
		return nil
	}
	return r.annotate(ctx, name, map[string]any{HookAnnotation: nil})
}

// annotate writes annotations, or removes those that are nil.
func (r *reconciler) annotate(ctx context.Context, name types.NamespacedName, annotations map[string]any) error {
	mapping, err := r.mapper.RESTMapping(kind("Machine"))
	if err != nil {
		return fmt.Errorf("finding kind Machine: %w", err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return fmt.Errorf("encoding annotations: %w", err)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	object.SetNamespace(name.Namespace)
	object.SetName(name.Name)
	if err := r.write.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("annotating Machine %s: %w", name, err)
	}
	return nil
}

// get reads an object of Cluster API, in the version that is served.
func (r *reconciler) get(ctx context.Context, name string, key types.NamespacedName) (*unstructured.Unstructured, error) {
	mapping, err := r.mapper.RESTMapping(kind(name))
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	return object, r.live.Get(ctx, key, object)
}

func kind(name string) schema.GroupKind {
	return schema.GroupKind{Group: "cluster.x-k8s.io", Kind: name}
}
