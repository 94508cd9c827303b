package fault

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Deadline is the cause of a context whose time the user limited.
type Deadline struct{ After time.Duration }

// Error says how long the work was waited for.
func (d Deadline) Error() string { return fmt.Sprintf("not done after %s", d.After) }

// WithDeadline returns a context that is cancelled after a time, with a
// Deadline as its cause; 0 is never. Callees do not see when: clients refuse
// calls that they believe will not be done in time, long before it is over.
func WithDeadline(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if after == 0 {
		return ctx, func() { cancel(nil) }
	}
	timer := time.AfterFunc(after, func() { cancel(Deadline{after}) })
	return ctx, func() { timer.Stop(); cancel(nil) }
}

// Overdue gives an error with which work ended because of a Deadline that as
// its cause, and a remedy; any other error is returned as it is.
func Overdue(ctx context.Context, err error) error {
	var over Deadline
	if err == nil || !errors.As(context.Cause(ctx), &over) {
		return err
	}
	if !errors.As(err, new(Deadline)) {
		err = fmt.Errorf("%w: %w", over, err)
	}
	if Remedy(err) != "" {
		return err
	}
	return &Fault{Exit: ExitDeadline, Err: err, Remedy: Resume}
}

// Resume is the remedy for work that a Deadline ended.
const Resume = "run the same command again: it goes on from here; give it a longer --timeout, or do away with the cause"
