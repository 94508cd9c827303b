package addonprovider

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-sh/slipway/addons/addonprovider/target"
	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
	"github.com/slipway-sh/slipway/internal/charts"
)

// reconciler handles the addons of one kind. It only looks at the management cluster itself; jobs
// do what takes long, or may take long.
type reconciler struct {
	newAddon func() addon
	options  Options
	// client reads from the cache, live directly from the API server.
	client   client.Client
	live     client.Reader
	watches  watcher
	charts   *charts.Store
	clusters *target.Clusters
	work     *work
	memory   *memory
	writes   *writes
	events   record.EventRecorder
	// identities knows the credentials of clusters, for their changes.
	identities *identities
}

// Reconcile brings one addon a step further.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object, err := r.read(ctx, request.NamespacedName)
	if err != nil {
		if apierrors.IsNotFound(err) {
			r.memory.forget(request.NamespacedName)
			r.writes.forget(request.NamespacedName)
			if j := r.work.take(request.NamespacedName); j != nil {
				j.cancel() // somebody took its finalizer: it may be looked after elsewhere by now
			}
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	before, ok := object.DeepCopyObject().(addon)
	if !ok {
		return reconcile.Result{}, fmt.Errorf("unexpected type %T", object)
	}
	after, err := r.step(ctx, object)
	if saving := r.saveStatus(ctx, before, object); saving != nil {
		return reconcile.Result{}, errors.Join(err, saving)
	}
	return reconcile.Result{RequeueAfter: after}, err
}

// saveStatus writes the status if it changed.
func (r *reconciler) saveStatus(ctx context.Context, before, object addon) error {
	if reflect.DeepEqual(before.AddonStatus(), object.AddonStatus()) {
		return nil
	}
	patched, ok := object.DeepCopyObject().(addon)
	if !ok {
		return fmt.Errorf("unexpected type %T", object)
	}
	before.SetResourceVersion(object.GetResourceVersion())
	if err := r.client.Status().Patch(ctx, patched, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing status: %w", err)
	}
	r.writes.wrote(keyOf(patched), patched.GetResourceVersion())
	return nil
}

// step does what is due and returns when to look again without an event; 0 means never.
func (r *reconciler) step(ctx context.Context, object addon) (time.Duration, error) {
	spec, status := object.Addon(), object.AddonStatus()
	status.ObservedGeneration = object.GetGeneration()
	j := r.work.take(keyOf(object))
	if j != nil && j.finished != nil {
		r.record(object, j.finished)
		j = nil
	}
	clusterKey := types.NamespacedName{Namespace: object.GetNamespace(), Name: spec.ClusterName}
	cluster, err := r.cluster(ctx, clusterKey)
	if err != nil {
		return 0, err
	}
	if cluster == nil {
		r.clusters.Drop(clusterKey)
		r.identities.set(clusterKey, "")
	}
	if object.GetDeletionTimestamp() != nil {
		return r.stepDeletion(ctx, object, cluster, j)
	}
	if err := r.identify(ctx, object, cluster); err != nil {
		return 0, err
	}
	if status.Phase == "" || status.Phase == v1alpha1.PhaseUnknown {
		status.Phase = v1alpha1.PhasePending
	}
	switch ready, why := false, ""; {
	case cluster == nil:
		r.waits(object, &waitError{v1alpha1.ReasonClusterMissing, "Cluster " + spec.ClusterName + " is missing"})
		return r.options.RetryDelay, nil
	case spec.Paused || held(object):
		r.paused(object)
		return 0, nil
	default:
		if ready, why = clusterReady(cluster, spec.Bootstrap); !ready && status.Digest == "" {
			r.waits(object, &waitError{v1alpha1.ReasonClusterNotReady, why})
			return time.Minute, nil
		}
	}
	if deleting(cluster) { // it takes its addons along
		if j != nil {
			j.cancel()
		}
		return 0, nil
	}
	return r.stepRelease(ctx, object, cluster, j)
}

// stepRelease renders the addon and starts a job if there is something to do.
func (r *reconciler) stepRelease(ctx context.Context, object addon, cluster *unstructured.Unstructured, j *job) (time.Duration, error) {
	key := keyOf(object)
	surroundings, err := r.surroundings(ctx, cluster)
	var d *desired
	if err == nil {
		d, err = r.desire(ctx, object, surroundings)
	}
	if err != nil {
		return r.failed(object, &outcome{err: err}), nil
	}
	if j != nil {
		if j.digest != d.digest || j.uninstall {
			j.cancel() // what it does is out of date; its end is an event
		}
		r.showProgress(object, j)
		return 0, nil
	}
	wait, deployed := r.memory.due(key, object, d.digest, r.options.ResyncPeriod)
	switch awaiting := readyReason(object) == v1alpha1.ReasonWaitingForWorkers; {
	case wait == 0, awaiting && !workerless(cluster): // there is something to do
	case deployed && !awaiting:
		confirm(object) // whatever was in the way is not any more
		return max(wait, 0), nil
	default:
		return max(wait, 0), nil
	}
	known := recorded{object.AddonStatus().Revision, object.AddonStatus().Digest, pending(object)}
	r.work.begin(key, d.digest, false, func(ctx context.Context, report *reporter) outcome {
		return r.perform(ctx, d, known, report)
	})
	return 0, nil
}

// identify sets the finalizer, the labels by which others find addons, and the owner.
func (r *reconciler) identify(ctx context.Context, object addon, cluster *unstructured.Unstructured) error {
	before, ok := object.DeepCopyObject().(addon)
	if !ok {
		return fmt.Errorf("unexpected type %T", object)
	}
	controllerutil.AddFinalizer(object, v1alpha1.Finalizer)
	labels := map[string]string{}
	for key, value := range object.GetLabels() {
		labels[key] = value
	}
	labels[v1alpha1.ClusterLabel] = labelValue(object.Addon().ClusterName)
	labels[v1alpha1.ReleaseNamespaceLabel] = labelValue(object.Addon().TargetNamespace)
	labels[v1alpha1.ReleaseNameLabel] = labelValue(releaseName(object))
	object.SetLabels(labels)
	if cluster != nil && !deleting(cluster) {
		if err := controllerutil.SetOwnerReference(cluster, object, r.client.Scheme(), controllerutil.WithBlockOwnerDeletion(true)); err != nil {
			return fmt.Errorf("setting owner: %w", err)
		}
	}
	if reflect.DeepEqual(before.GetLabels(), object.GetLabels()) && reflect.DeepEqual(before.GetFinalizers(), object.GetFinalizers()) &&
		reflect.DeepEqual(before.GetOwnerReferences(), object.GetOwnerReferences()) {
		return nil
	}
	return r.patchMetadata(ctx, before, object)
}

// patchMetadata writes the metadata, unless the object has changed meanwhile; the status of the
// given object is kept.
func (r *reconciler) patchMetadata(ctx context.Context, before, object addon) error {
	status := *object.AddonStatus()
	*object.AddonStatus() = *before.AddonStatus()
	err := r.client.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	*object.AddonStatus() = status
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing metadata: %w", err)
	}
	return nil
}

// stepDeletion uninstalls the release, unless its cluster is deleted with everything on it.
func (r *reconciler) stepDeletion(ctx context.Context, object addon, cluster *unstructured.Unstructured, j *job) (time.Duration, error) {
	key, status := keyOf(object), object.AddonStatus()
	if !controllerutil.ContainsFinalizer(object, v1alpha1.Finalizer) {
		return 0, nil
	}
	if moved(object) { // with its release: the addon lives on elsewhere
		if j != nil {
			j.cancel()
		}
		return 0, r.release(ctx, object)
	}
	gone := cluster == nil || deleting(cluster) || object.Addon().Paused || r.memory.uninstalled(key, object.GetUID())
	if !gone {
		kubeconfig, err := target.Kubeconfig(ctx, r.live, types.NamespacedName{Namespace: object.GetNamespace(), Name: object.Addon().ClusterName})
		if err != nil {
			return 0, err
		}
		// Where it was there once, it is made again, and the release may be there still.
		once, _ := clusterReady(cluster, true)
		gone = kubeconfig == nil && !once && status.Digest == ""
	}
	if j != nil {
		if gone || !j.uninstall {
			j.cancel()
		}
		r.showProgress(object, j)
		return 0, nil
	}
	if gone {
		return 0, r.release(ctx, object)
	}
	status.Phase = v1alpha1.PhaseUninstalling
	if wait := r.memory.wait(key); wait > 0 {
		return wait, nil
	}
	d := &desired{name: releaseName(object), namespace: object.Addon().TargetNamespace, hooks: object.Addon().LifecycleHooks,
		cluster: types.NamespacedName{Namespace: object.GetNamespace(), Name: object.Addon().ClusterName}}
	var err error
	if d.timeout, err = timeout(object.Addon().ReleaseTimeout, r.options.DefaultTimeout); err != nil {
		d.timeout = r.options.DefaultTimeout
	}
	r.work.begin(key, "", true, func(ctx context.Context, report *reporter) outcome { return r.remove(ctx, d, report) })
	return 0, nil
}

// moved reports whether `clusterctl move` deletes the addon, because its cluster lives on in
// another management cluster.
func moved(object addon) bool {
	_, ok := object.GetAnnotations()[v1alpha1.MovedAnnotation]
	return ok
}

// release removes the finalizer of an addon.
func (r *reconciler) release(ctx context.Context, object addon) error {
	before, ok := object.DeepCopyObject().(addon)
	if !ok {
		return fmt.Errorf("unexpected type %T", object)
	}
	controllerutil.RemoveFinalizer(object, v1alpha1.Finalizer)
	return r.patchMetadata(ctx, before, object)
}
