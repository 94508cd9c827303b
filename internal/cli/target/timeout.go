package target

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/pflag"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Timeout is the value of --timeout.
type Timeout time.Duration

// Add adds the flag; its default is the value at this time.
func (t *Timeout) Add(flags *pflag.FlagSet) {
	flags.DurationVar((*time.Duration)(t), "timeout", time.Duration(*t), "end the run after this time, such as 90m, with exit code 5 and the cause of the wait; 0 means never")
}

// Run runs a command's work with the timeout.
func (t Timeout) Run(ctx context.Context, work func(context.Context) error) error {
	if t < 0 {
		return fault.Usage("--timeout", errors.New("it is negative"), "give a duration such as 90m, or 0 for none")
	}
	ctx, stop := fault.WithDeadline(ctx, time.Duration(t))
	defer stop()
	return fault.Overdue(ctx, work(ctx))
}
