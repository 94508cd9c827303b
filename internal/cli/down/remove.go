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

// remove lets the engine delete what is in the state, then deletes what is left
// by its marks, and then volumes of workloads: their servers are gone. It goes on
// if the engine failed, but not if somebody else works on the environment.
func (o options) remove(ctx context.Context, t *target.Target, before []openstack.Thing, workloads []openstack.WorkloadVolume, progress event.Sink) (failed, volumes error) {
	_, failed = t.Engine.Destroy(ctx)
	var locked *engine.Locked
	if ctx.Err() != nil || errors.As(failed, &locked) {
		return failed, nil
	}
	failed = o.sweep(ctx, t, before, failed, progress)
	return failed, t.Inventory.RemoveWorkloadVolumes(ctx, workloads, progress)
}

// sweep deletes by their marks what is left after the engine; and what Services
// had before it, for that is known by the networks and servers that it was on.
func (o options) sweep(ctx context.Context, t *target.Target, before []openstack.Thing, failed error, progress event.Sink) error {
	left, err := t.Inventory.List(ctx, t.Name())
	if err != nil {
		return errors.Join(failed, err)
	}
	for _, thing := range before {
		if thing.Step == openstack.StepServices && !slices.ContainsFunc(left, func(l openstack.Thing) bool { return l.Type == thing.Type && l.ID == thing.ID }) {
			left = append(left, thing)
		}
	}
	swept := t.Inventory.Sweep(ctx, left, progress)
	if failed == nil && swept == nil {
		return t.Engine.Remove(ctx)
	}
	if swept == nil { // nothing is left: the state says what is no more
		_, err := t.Engine.Refresh(ctx, true)
		return errors.Join(err, t.Engine.Remove(ctx))
	}
	return errors.Join(failed, swept)
}
