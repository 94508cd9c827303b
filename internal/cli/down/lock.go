package down

import (
	"context"
	"errors"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// unlocked ends the run before it changes anything if another run holds the environment's
// lock: the engine asks for it only after the clusters are deleted. Another fault of the
// state is none here, because what carries the tag is deleted without it.
func unlocked(ctx context.Context, t *target.Target) error {
	err := t.Engine.CheckLock(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.As(err, new(*engine.Locked)) {
		return err
	}
	return nil
}
