package kube

import (
	"context"
	"fmt"
	"time"
)

// insistPause is the time between two attempts of Insist.
const insistPause = time.Second

// Insist repeats a request while its error passes, until the context ends. tell takes each
// error that is waited out; it may be nil.
func Insist(ctx context.Context, passes func(error) bool, tell func(error), ask func(context.Context) error) error {
	for {
		err := ask(ctx)
		if err == nil || !passes(err) || ctx.Err() != nil {
			return err
		}
		if tell != nil {
			tell(err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(insistPause):
		}
	}
}
