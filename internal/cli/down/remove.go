package down

import (
	"context"
	"errors"
	"slices"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/stacks/engine"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// remove lets the engine delete the resources of the state, then deletes by their
// ownership tags those that are left, first what Keystone has, and last the volumes of
// workloads, whose servers are gone by then. It goes on if the engine failed, but not if
// another run holds the environment's lock.
func (o options) remove(ctx context.Context, t *target.Target, before []openstack.Resource, workloads []openstack.WorkloadVolume, progress event.Sink) (failed, volumes error) {
	known, _ := t.Engine.Resources(ctx) // one that cannot be read says nothing, as one that is lost
	_, failed = t.Engine.Destroy(ctx)
	var locked *engine.Locked
	if ctx.Err() != nil || errors.As(failed, &locked) {
		return failed, nil
	}
	stays := unregister(ctx, t, t.Engine, before, failed, progress)
	if stays != nil && (ctx.Err() != nil || len(known) == 0 && addressed(before)) {
		return errors.Join(failed, stays), nil
	}
	if failed = o.sweep(ctx, t, before, failed, progress); stays != nil {
		failed = errors.Join(failed, stays)
	}
	return failed, t.Inventory.RemoveWorkloadVolumes(ctx, workloads, progress)
}

// sweep deletes the resources that carry the ownership tag and are left after the
// engine. It deletes those of Kubernetes Services first: they are recognised by
// the networks and servers that they are attached to.
func (o options) sweep(ctx context.Context, t *target.Target, before []openstack.Resource, failed error, progress event.Sink) error {
	left, err := t.Inventory.List(ctx, t.Name())
	if err != nil {
		return errors.Join(failed, err)
	}
	for _, thing := range before {
		if thing.Step == openstack.StepServices && !slices.ContainsFunc(left, func(l openstack.Resource) bool { return l.Type == thing.Type && l.ID == thing.ID }) {
			left = append(left, thing)
		}
	}
	swept := t.Inventory.Sweep(ctx, left, progress)
	if failed == nil && swept == nil {
		return t.Engine.Remove(ctx)
	}
	if swept == nil { // nothing is left: the state is out of date
		_, err := t.Engine.Refresh(ctx, true)
		if err = errors.Join(err, t.Engine.Remove(ctx)); err != nil {
			return errors.Join(failed, err)
		}
		return nil
	}
	return errors.Join(failed, swept)
}
