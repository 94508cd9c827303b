package worker

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/machine"
	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// End ends an operation: first the instance gets the result and the lock is released, in
// one write, then the operation gets its state. The second write is made up for when the
// process is killed between them.
func (j *job) End(ctx context.Context, state v1alpha1.OperationState, problem *v1alpha1.Problem) error {
	before, unused := j.op.Now(), j.unused(state)
	switch {
	case state == v1alpha1.Completed:
		if err := actionOf(j.op.Spec.Operation).finish(ctx, j, true); err != nil {
			return err
		}
	case state == v1alpha1.RolledBack && before == v1alpha1.RollingBack:
		if err := actionOf(j.op.Spec.Operation).finish(ctx, j, false); err != nil {
			return err
		}
	}
	s := &j.instance.Status
	s.Sequence, s.Ended, s.Failure, s.Current = j.op.Spec.Sequence, state, problem, ""
	if err := j.o.Client.Status().Update(ctx, j.instance); err != nil {
		return fmt.Errorf("writing the result into the instance: %w", err)
	}
	if err := j.drop(ctx, unused); err != nil {
		return err
	}
	return j.close(ctx, state, problem)
}

// unused is the Secret of a connection that nothing uses after the end.
func (j *job) unused(state v1alpha1.OperationState) string {
	switch {
	case state != v1alpha1.Completed:
		return j.op.Spec.Secret
	case j.op.Spec.Operation == v1alpha1.Terminate, j.op.Spec.Operation == v1alpha1.ModifyInfo && j.op.Spec.Secret != "":
		return j.instance.Status.VIMSecret
	}
	return ""
}

// close writes the final state, and what happened to machines.
func (j *job) close(ctx context.Context, state v1alpha1.OperationState, problem *v1alpha1.Problem) error {
	machines, err := machine.List(ctx, j.o.Kube.Dynamic, j.instance)
	if err != nil {
		return err
	}
	touches := j.op.Spec.Operation == v1alpha1.ChangePackage && state == v1alpha1.Completed
	j.op.Status.Affected = v1alpha1.Diff(j.op.Status.Before, machines, touches)
	j.op.Enter(state, problem, j.now())
	return j.save(ctx)
}

// Fail gives an operation up that failed: what it left is the instance's.
func Fail(ctx context.Context, o *Options, op *v1alpha1.VNFOperation) error {
	j := &job{o: o, op: op, instance: &v1alpha1.VNFInstance{}}
	if err := o.Client.Get(ctx, types.NamespacedName{Namespace: op.Namespace, Name: op.Spec.InstanceID}, j.instance); err != nil {
		return fmt.Errorf("reading instance: %w", err)
	}
	j.instance.Look()
	if j.instance.Status.Sequence >= op.Spec.Sequence {
		return j.close(ctx, j.instance.Status.Ended, j.instance.Status.Failure)
	}
	return j.End(ctx, v1alpha1.Failed, op.Status.Error)
}
