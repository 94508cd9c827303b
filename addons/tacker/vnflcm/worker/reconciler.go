package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/machine"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// Reconciler performs operations.
type Reconciler struct{ O *Options }

// conflictPause is the time after which an operation is looked at again that somebody has
// changed meanwhile: notifications are ticked off in it.
const conflictPause = 50 * time.Millisecond

// Reconcile looks at an operation and does its next step.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	result, err := r.next(ctx, request)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: conflictPause}, nil
	}
	return result, err
}

func (r *Reconciler) next(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	op := &v1alpha1.VNFOperation{}
	if err := r.O.Client.Get(ctx, request.NamespacedName, op); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if op.Status.State.Final() {
		return r.retire(ctx, op)
	}
	j := &job{o: r.O, op: op, instance: &v1alpha1.VNFInstance{}}
	err := r.O.Client.Get(ctx, types.NamespacedName{Namespace: op.Namespace, Name: op.Spec.InstanceID}, j.instance)
	switch {
	case apierrors.IsNotFound(err), err == nil && !j.instance.DeletionTimestamp.IsZero():
		return r.orphan(ctx, op)
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("reading instance: %w", err)
	}
	j.instance.Look()
	if j.instance.Status.Sequence >= op.Spec.Sequence { // killed between two writes
		return reconcile.Result{}, j.close(ctx, j.instance.Status.Ended, j.instance.Status.Failure)
	}
	return r.look(ctx, j)
}

// look does what the state asks for.
func (r *Reconciler) look(ctx context.Context, j *job) (reconcile.Result, error) {
	state := j.op.Now()
	switch {
	case state == v1alpha1.FailedTemp && j.op.Status.GivenUp:
		return reconcile.Result{}, j.End(ctx, v1alpha1.Failed, j.op.Status.Error)
	case state == v1alpha1.FailedTemp:
		return reconcile.Result{}, nil // a client decides
	}
	if j.op.Status.Worker != r.O.process {
		if j.op.Status.Worker != "" {
			return reconcile.Result{}, j.settleOld(ctx)
		}
		return reconcile.Result{RequeueAfter: 1}, j.claim(ctx)
	}
	if err := j.open(ctx); err != nil {
		return r.turn(ctx, j, "", err)
	}
	do := actionOf(j.op.Spec.Operation)
	switch state {
	case v1alpha1.Starting:
		err := j.live(ctx)
		if err == nil {
			err = do.start(ctx, j)
		}
		if err != nil {
			return r.turn(ctx, j, "", err)
		}
		return reconcile.Result{RequeueAfter: 1}, j.proceed(ctx)
	case v1alpha1.RollingBack:
		waiting, err := do.undo(ctx, j)
		return r.turn(ctx, j, waiting, err)
	}
	waiting, err := do.process(ctx, j)
	return r.turn(ctx, j, waiting, err)
}

// claim makes this process the one that works on an operation. It is on the instance too,
// so that nobody deletes that meanwhile.
func (j *job) claim(ctx context.Context) error {
	if j.instance.Status.Current != j.op.Name {
		j.instance.Status.Current = j.op.Name
		if err := j.o.Client.Status().Update(ctx, j.instance); err != nil {
			return fmt.Errorf("claiming instance: %w", err)
		}
	}
	if j.op.Status.State == "" {
		j.op.Enter(j.op.Now(), nil, j.now())
		machines, err := machine.List(ctx, j.o.Kube.Dynamic, j.instance)
		if err != nil {
			return err
		}
		j.op.Status.Before = machines
	}
	j.op.Status.Worker = j.o.process
	return j.save(ctx)
}

// proceed goes from STARTING to PROCESSING.
func (j *job) proceed(ctx context.Context) error {
	j.op.Enter(v1alpha1.Processing, nil, j.now())
	j.op.Status.Worker = j.o.process
	return j.save(ctx)
}

// settleOld ends what another process began and cannot continue: nothing has been changed
// in STARTING; else a client decides.
func (j *job) settleOld(ctx context.Context) error {
	p := &v1alpha1.Problem{Status: http.StatusInternalServerError, Detail: "the endpoint was restarted while the operation ran"}
	if j.op.Now() == v1alpha1.Starting {
		return j.End(ctx, v1alpha1.RolledBack, p)
	}
	j.op.Enter(v1alpha1.FailedTemp, p, j.now())
	return j.save(ctx)
}

// turn goes on after a step: it waits, has failed or is done.
func (r *Reconciler) turn(ctx context.Context, j *job, waiting string, err error) (reconcile.Result, error) {
	again := reconcile.Result{RequeueAfter: r.O.Poll}
	if apierrors.IsUnauthorized(err) { // the token may have ended since the beginning
		err = cmp.Or(j.live(ctx), err)
	}
	if err != nil && passing(err) && j.op.Now() != v1alpha1.Starting {
		waiting, err = err.Error(), nil
	}
	if err == nil && waiting != "" {
		if j.late() {
			err = refuse(http.StatusInternalServerError, "not done in time: %s", waiting)
		} else if waiting != j.op.Status.Waiting {
			j.op.Status.Waiting = waiting
			return again, j.save(ctx)
		} else {
			return again, nil
		}
	}
	defer r.O.forget(j.step())
	state := j.op.Now()
	if err == nil {
		final := v1alpha1.Completed
		if state == v1alpha1.RollingBack {
			final = v1alpha1.RolledBack
		}
		err = j.End(ctx, final, j.cause(final))
		if err == nil || apierrors.IsConflict(err) || passing(err) { // its result may be written: the next look finds out
			return reconcile.Result{}, err
		}
	}
	r.O.Log.InfoContext(ctx, "operation failed", "operation", j.op.Name, "type", string(j.op.Spec.Operation), "state", string(state), "error", err.Error())
	if state == v1alpha1.Starting {
		return reconcile.Result{}, j.End(ctx, v1alpha1.RolledBack, problemOf(err))
	}
	j.op.Enter(v1alpha1.FailedTemp, problemOf(err), j.now())
	return reconcile.Result{}, j.save(ctx)
}

// cause is what a rolled back operation failed by: it stays with it.
func (j *job) cause(final v1alpha1.OperationState) *v1alpha1.Problem {
	if final == v1alpha1.RolledBack {
		return j.op.Status.Failure
	}
	return nil
}

// late reports whether a state lasts too long.
func (j *job) late() bool {
	limit := j.o.Wait
	if j.op.Spec.Operation == v1alpha1.Terminate && j.params.Ending == "FORCEFUL" {
		limit = j.o.Forceful
	}
	return j.o.Clock.Since(j.op.Entered().Time) > limit
}

func (j *job) now() metav1.Time { return metav1.NewTime(j.o.Clock.Now().Truncate(1e9)) }

func (j *job) save(ctx context.Context) error {
	if err := j.o.Client.Status().Update(ctx, j.op); err != nil {
		return fmt.Errorf("writing operation: %w", err)
	}
	return nil
}

func problemOf(err error) *v1alpha1.Problem {
	var r refusal
	if errors.As(err, &r) {
		return &v1alpha1.Problem{Status: r.status, Detail: r.detail}
	}
	return &v1alpha1.Problem{Status: statusOf(err), Detail: err.Error()}
}

// orphan ends an operation whose instance was deleted before it began.
func (r *Reconciler) orphan(ctx context.Context, op *v1alpha1.VNFOperation) (reconcile.Result, error) {
	j := &job{o: r.O, op: op}
	op.Enter(v1alpha1.RolledBack, &v1alpha1.Problem{Status: http.StatusNotFound, Detail: "the instance does not exist"}, j.now())
	return reconcile.Result{}, j.save(ctx)
}

// retire deletes operations that ended long ago.
func (r *Reconciler) retire(ctx context.Context, op *v1alpha1.VNFOperation) (reconcile.Result, error) {
	if left := r.O.Keep - r.O.Clock.Since(op.Entered().Time); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(r.O.Client.Delete(ctx, op))
}
