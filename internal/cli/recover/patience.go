package recover

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-sh/slipway/internal/cli/target"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/vain"
	"github.com/slipway-sh/slipway/stacks"
)

// place is the seed, and whether the objects of the management cluster are on itself.
func (r *rebuild) place(ctx context.Context) (*target.Seed, bool, error) {
	resources, err := r.t.Engine.Resources(ctx)
	if err != nil {
		return nil, false, err
	}
	pivoted := false
	for _, one := range resources {
		pivoted = pivoted || one.Name == stacks.StepManagementMove
	}
	seed, err := r.t.Seed(ctx)
	return seed, pivoted, err
}

// patiently does something until it succeeds; what it waits for is shown. An error that does
// not pass ends it early.
func patiently(ctx context.Context, limit time.Duration, step *event.Step, do func() error) error {
	var hopeless vain.Watch
	for end := time.Now().Add(limit); ; {
		err := do()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		if hopeless.Ends(err) {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("after %s: %w", limit, err)
		}
		step.Wait(err.Error())
		select {
		case <-ctx.Done():
		case <-time.After(askEvery):
		}
	}
}
