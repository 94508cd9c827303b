package fault

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Deadline is the cause of a context that a user's timeout ended.
type Deadline struct{ After time.Duration }

// Error says how long the work could take.
func (d Deadline) Error() string { return fmt.Sprintf("not done after %s", d.After) }

// WithDeadline returns a context that is cancelled after a time, with a Deadline as
// its cause; 0 means never. Callees do not see the deadline: clients refuse calls
// that they expect to miss it, long before it has passed.
func WithDeadline(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if after == 0 {
		return ctx, func() { cancel(nil) }
	}
	timer := time.AfterFunc(after, func() { cancel(Deadline{after}) })
	return ctx, func() { timer.Stop(); cancel(nil) }
}

// Overdue adds the Deadline and a remedy to an error that a Deadline caused; it
// returns any other error unchanged.
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
const Resume = "fix the cause, or use a longer --timeout; then run the same command again to resume"
