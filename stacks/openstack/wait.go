package openstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	p "github.com/pulumi/pulumi-go-provider"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/vain"
)

// Polling starts fast, for fast clouds, and slows down.
const (
	firstPoll = 50 * time.Millisecond
	lastPoll  = 3 * time.Second
)

// attempts is how often a step is tried if the cloud answers with a server error. Clients
// already retry reads; this is for calls that create. Deleting is retried longer, about a
// minute: a dependent resource may be gone for one service but not yet for another, which
// answers 409 meanwhile.
const (
	attempts         = 5
	deletingAttempts = 18
	longestPause     = 5 * time.Second
)

// stall is how long a resource may stay as it is before waiting for it ends. It is for what
// the cloud never finishes and says nothing about, such as a load balancer that stays in
// PENDING_CREATE; the slowest step that is known to end is the deployment of bare metal.
const stall = 30 * time.Minute

// wait calls check until it is done or fails. status is shown meanwhile; one that begins with
// vainly counts as a state that the resource does not leave by itself, and ends the wait with
// its words if it lasts.
func wait(ctx context.Context, check func() (status string, done bool, err error)) error {
	shown, changed := "", time.Now()
	var hopeless vain.Watch
	for pause := firstPoll; ; pause = min(pause*3/2, lastPoll) {
		status, done, err := check()
		if done || err != nil {
			return err
		}
		words, lasting := strings.CutPrefix(status, vainly)
		if words != shown {
			p.GetLogger(ctx).InfoStatus(words)
			shown, changed = words, time.Now()
		}
		switch {
		case hopeless.Over(lasting):
			return &fault.Fault{Exit: fault.ExitFailure, Err: fmt.Errorf("%s; it stays so for %s, and the cloud does nothing more", words, vain.Patience), Remedy: "ask the cloud's operator why; then run the same command again"}
		case time.Since(changed) > stall:
			return &fault.Fault{Exit: fault.ExitFailure, Err: fmt.Errorf("%s, and has not changed for %s", words, stall), Remedy: "ask the cloud's operator why; then run the same command again"}
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// vainly begins the words of a state in which the cloud may have given up. It is not shown.
const vainly = "in vain: "

func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// again calls do until it succeeds, fails for good or has been tried often enough. do finds
// what an earlier attempt created.
func again(ctx context.Context, do func() error) error { return times(ctx, attempts, do) }

func times(ctx context.Context, most int, do func() error) error {
	for attempt, pause := 1, 100*time.Millisecond; ; attempt, pause = attempt+1, min(pause*2, longestPause) {
		err := do()
		if err == nil || attempt == most || !passing(err) || ctx.Err() != nil {
			return err
		}
		p.GetLogger(ctx).InfoStatus("retrying: " + message(err))
		if sleep(ctx, pause) != nil {
			return err
		}
	}
}

// passing reports whether an error may go away by itself: a problem of the cloud or of the
// connection, or a conflict with a running operation.
func passing(err error) bool {
	var response gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &response) {
		switch response.Actual {
		case http.StatusConflict:
			return !strings.Contains(string(response.Body), "OverQuota")
		case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return false
	}
	var network net.Error
	return errors.As(err, &network) || brokenConnection(err)
}
