package down

import (
	"context"
	"errors"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// remove lets the engine delete what is in the state, then deletes what is left
// by its marks. The sweep comes also if the engine failed, but not if somebody
// else works on the environment.
func (o options) remove(ctx context.Context, t *target.Target, progress event.Sink) error {
	_, failed := t.Engine.Destroy(ctx)
	var locked *engine.Locked
	if ctx.Err() != nil || errors.As(failed, &locked) {
		return failed
	}
	left, err := t.Inventory.List(ctx, t.Name())
	if err != nil {
		return errors.Join(failed, err)
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
