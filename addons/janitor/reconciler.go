package janitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// reconciler holds deleted OpenStackClusters until their project is clean.
type reconciler struct {
	options Options
	// client reads metadata of OpenStackClusters from the cache, reader
	// everything else from the API server.
	client client.Client
	reader client.Reader
	events record.EventRecorder
	meters meters
	pace   *pace
	slots  *slots
	now    func() time.Time
}

// Reconcile makes one attempt for one cluster and returns when the next one is.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, r.options.AttemptTime)
	defer cancel()
	cluster := &metav1.PartialObjectMetadata{}
	cluster.SetGroupVersionKind(clusterKind())
	err := r.client.Get(ctx, request.NamespacedName, cluster)
	switch {
	case apierrors.IsNotFound(err):
		r.pace.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("reading OpenStackCluster: %w", err)
	case cluster.DeletionTimestamp == nil:
		return r.living(ctx, cluster)
	case !controllerutil.ContainsFinalizer(cluster, Finalizer), moved(cluster):
		r.pace.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(clusterKind())
	if err := r.reader.Get(ctx, request.NamespacedName, object); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	t := read(object)
	result, err := r.deleted(ctx, t)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return reconcile.Result{RequeueAfter: firstDelay}, nil // somebody else wrote in between
	}
	return result, err
}

// moved reports whether `clusterctl move` deletes the object, because the cluster lives on in
// another management cluster.
func moved(object metav1.Object) bool {
	_, ok := object.GetAnnotations()[movedAnnotation]
	return ok
}

// living adds the finalizer (row F140), and writes a report if asked to.
func (r *reconciler) living(ctx context.Context, cluster *metav1.PartialObjectMetadata) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(cluster, Finalizer) {
		before := cluster.DeepCopy()
		controllerutil.AddFinalizer(cluster, Finalizer)
		err := r.client.Patch(ctx, cluster, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) {
			return reconcile.Result{RequeueAfter: firstDelay}, nil
		}
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, nil
		}
		if err != nil {
			return reconcile.Result{}, fmt.Errorf("adding the finalizer: %w", err)
		}
	}
	if cluster.Annotations[DryRunAnnotation] != yes {
		return reconcile.Result{}, nil
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(clusterKind())
	if err := r.reader.Get(ctx, client.ObjectKeyFromObject(cluster), object); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	// The cache may be behind: without the annotation this would be no dry run any more.
	if object.GetAnnotations()[DryRunAnnotation] != yes {
		return reconcile.Result{}, nil
	}
	_, err := r.visit(ctx, read(object))
	switch {
	case errors.Is(err, errBusy):
		return reconcile.Result{RequeueAfter: firstDelay}, nil
	case err != nil:
		r.events.Event(object, corev1.EventTypeWarning, ReasonCleanupFailed, "dry run: "+err.Error())
		return reconcile.Result{RequeueAfter: r.options.RetryDelay}, nil
	}
	return reconcile.Result{}, nil
}

// deleted works on a deleted cluster.
func (r *reconciler) deleted(ctx context.Context, t target) (reconcile.Result, error) {
	if t.annotation(ReleaseAnnotation) == yes {
		r.events.Event(t.object, corev1.EventTypeWarning, EventReleased, "released without cleaning up, as requested: resources may be left in OpenStack")
		return r.finish(ctx, t, "released")
	}
	held, err := r.hold(ctx, t)
	if err != nil {
		return reconcile.Result{}, err
	}
	if held.reason != "" {
		return r.again(ctx, t, held)
	}
	result, err := r.visit(ctx, t)
	switch {
	case errors.Is(err, errBusy):
		return reconcile.Result{RequeueAfter: firstDelay}, nil
	case errors.Is(err, errNoCredential):
		return r.locked(ctx, t, err)
	case err != nil:
		return r.failed(ctx, t, err)
	case !result.done:
		return r.again(context.WithoutCancel(ctx), t, result) // its time may be over
	}
	r.events.Event(t.object, corev1.EventTypeNormal, EventSucceeded, result.message)
	return r.finish(ctx, t, "success")
}

// errBusy means that enough workers are busy with that cloud.
var errBusy = errors.New("all workers for this cloud are busy")

// visit logs in and makes an attempt. If the cluster is clean, it deletes the credential too.
func (r *reconciler) visit(ctx context.Context, t target) (outcome, error) {
	c, err := r.credential(ctx, t)
	if err != nil {
		return outcome{}, err
	}
	leave, ok := r.slots.enter(c.authURL)
	if !ok {
		return outcome{}, errBusy
	}
	defer leave()
	opened, token, err := c.open(ctx)
	if err != nil {
		return outcome{}, &loginError{err}
	}
	defer opened.Close()
	result, err := r.attempt(ctx, t, opened, token)
	if err != nil || !result.done {
		return result, err
	}
	return r.end(ctx, t, c, opened, token, result)
}

// end records that nothing is left before the credential is deleted: after that, nobody could check
// again.
func (r *reconciler) end(ctx context.Context, t target, c *credential, opened *cloud.Cloud, token cloud.Token, result outcome) (outcome, error) {
	if err := r.tell(ctx, t, ReasonCleaned, result.message); err != nil {
		return outcome{}, err
	}
	ended, err := r.endCredential(ctx, t, c, opened, token)
	if err != nil {
		return outcome{}, &endError{err}
	}
	result.done = ended // the watch of finalizers brings it back
	return result, nil
}

// endError is an error that occurred when nothing was left but the credential. The record that
// nothing is left stays: if the credential is gone, nobody can check again.
type endError struct{ err error }

func (e *endError) Error() string { return e.err.Error() }
func (e *endError) Unwrap() error { return e.err }

// loginError is an error that occurred before anything was done.
type loginError struct{ err error }

func (e *loginError) Error() string { return e.err.Error() }
func (e *loginError) Unwrap() error { return e.err }

// locked handles a cluster without a usable credential. The cluster is released only if that leaves
// nothing behind; otherwise its condition says what it waits for.
func (r *reconciler) locked(ctx context.Context, t target, cause error) (reconcile.Result, error) {
	switch {
	case cleaned(t):
		r.events.Event(t.object, corev1.EventTypeNormal, EventSucceeded, "nothing is left, and the credential is deleted")
		return r.finish(ctx, t, "success")
	case t.neverProvisioned():
		r.events.Event(t.object, corev1.EventTypeNormal, EventNothing, "it was never provisioned, so there is nothing to clean up")
		return r.finish(ctx, t, "success")
	}
	r.meters.cleanups.WithLabelValues("failure").Inc()
	return r.again(ctx, t, outcome{reason: ReasonCredentialMissing, message: fmt.Sprintf(
		"%v; restore the credential, or annotate with %s=true to release the cluster and leave its resources in OpenStack", cause, ReleaseAnnotation)})
}

// failed records an error and schedules the next attempt: nothing is given up (rows F146, F150).
func (r *reconciler) failed(ctx context.Context, t target, cause error) (reconcile.Result, error) {
	if apierrors.IsConflict(cause) {
		return reconcile.Result{}, cause
	}
	r.meters.cleanups.WithLabelValues("failure").Inc()
	log.FromContext(ctx).Info("attempt failed", "cause", cause.Error())
	var login *loginError
	var end *endError
	reason := ReasonCleanupFailed
	switch {
	case errors.As(cause, &end):
		r.events.Event(t.object, corev1.EventTypeWarning, reason, cause.Error())
		return reconcile.Result{RequeueAfter: r.pace.next(t.key(), reason, 0)}, nil
	case errors.As(cause, &login):
		reason = ReasonCloudUnreachable
	}
	return r.again(context.WithoutCancel(ctx), t, outcome{reason: reason, message: cause.Error()})
}

// again writes why a cluster is not done, and returns when it is checked next.
func (r *reconciler) again(ctx context.Context, t target, o outcome) (reconcile.Result, error) {
	if err := r.tell(ctx, t, o.reason, o.message); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: r.pace.next(t.key(), o.reason, o.left)}, nil
}

// finish removes the finalizer.
func (r *reconciler) finish(ctx context.Context, t target, result string) (reconcile.Result, error) {
	before := t.object.DeepCopy()
	controllerutil.RemoveFinalizer(t.object, Finalizer)
	err := r.client.Patch(ctx, t.object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("removing the finalizer: %w", err)
	}
	r.meters.cleanups.WithLabelValues(result).Inc()
	r.pace.forget(t.key())
	return reconcile.Result{}, nil
}

func (r *reconciler) dry(t target) bool {
	return r.options.DryRun || t.annotation(DryRunAnnotation) == yes
}
