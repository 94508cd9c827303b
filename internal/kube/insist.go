package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slipway-sh/slipway/internal/kube/retry"
)

// insistPause is the time between two attempts of Insist.
const insistPause = time.Second

// Insist repeats a request while its error passes, until the context ends; the error then has what
// was waited out last, also if the request was on its way when the time was over. tell takes each
// error that is waited out; it may be nil.
func Insist(ctx context.Context, passes func(error) bool, tell func(error), ask func(context.Context) error) error {
	var last error
	for {
		err := ask(ctx)
		if last != nil && err != nil && errors.Is(err, ctx.Err()) {
			return fmt.Errorf("%w: %w", context.Cause(ctx), last)
		}
		if err == nil || !passes(err) || ctx.Err() != nil {
			return err
		}
		last = err
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

// Busy reports whether an API server does not answer for now, or says that it cannot, as while it
// starts.
func Busy(err error) bool {
	return apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) || retry.Helps(err)
}

// Away reports whether an API server, or a webhook that must judge a request, does not answer for
// now. A busy or lost node has their programs started again.
func Away(err error) bool { return Busy(err) || WebhookAway(err) }

// Outlast repeats a request while its error passes, at most for the limit. It ends early, with the
// cause, if the program behind a webhook that must judge the request cannot run. tell takes each
// error that is waited out; it may be nil.
func (c *Cluster) Outlast(ctx context.Context, limit time.Duration, passes func(error) bool, tell func(error), ask func(context.Context) error) error {
	attempts, end := c.Attempts(), time.Now().Add(limit)
	var vain error
	again := func(err error) bool {
		if !passes(err) || time.Now().After(end) {
			return false
		}
		vain = attempts.Vain(ctx, err)
		return vain == nil
	}
	if err := Insist(ctx, again, tell, ask); vain == nil {
		return err
	}
	return vain
}
