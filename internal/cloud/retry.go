package cloud

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

const (
	// maxRetries is how often a call is retried: with the waits below about half a
	// minute, which is how long an API process takes to restart.
	maxRetries = 6
	// loginRetries is lower: a user who logs in should soon learn that the cloud does
	// not answer.
	loginRetries = 3
	firstWait    = 500 * time.Millisecond
	longWait     = 10 * time.Second
	// maxRetryAfter bounds the Retry-After of a cloud.
	maxRetryAfter = time.Minute
)

// hasty marks the calls of who would rather know that a service fails than have its answer.
type hasty struct{}

// hastyRetries is how often such calls are retried: it takes a second and a half.
const hastyRetries = 2

// spent reports whether a call was retried as often as its context lets. A call for the
// versions of a service has none (see discovery); it is hasty once the login is.
func (r *retrier) spent(ctx context.Context, count uint) bool {
	return count > hastyRetries && (ctx.Value(hasty{}) != nil || ctx.Done() == nil && r.hurried.Load())
}

// retrier retries calls that are safe to retry.
type retrier struct {
	most uint
	wait func(context.Context, time.Duration) error
	// hurried is set once somebody makes a diagnosis.
	hurried atomic.Bool
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// call is gophercloud's hook after a failed call: nil retries it, an error ends it.
// Idempotent calls are retried; other calls only if they cannot have reached the
// service.
func (r *retrier) call(ctx context.Context, method, address string, options *gophercloud.RequestOpts, err error, count uint) error {
	if ctx.Err() != nil || count > r.most || r.spent(ctx, count) || (options != nil && options.RawBody != nil) {
		return err // a stream cannot be sent again
	}
	var response gophercloud.ErrUnexpectedResponseCode
	answered := errors.As(err, &response)
	switch {
	case !answered && ctx.Done() == nil && errors.Is(err, context.Canceled):
		return err // the time of a call without a context is over, see discovery
	case answered && !passing(response.Actual):
		return err
	case !answered && !broken(err):
		return err
	case !repeatable(method, address) && !errors.Is(err, syscall.ECONNREFUSED):
		return err
	}
	if waitErr := r.wait(ctx, pause(response.ResponseHeader, count)); waitErr != nil {
		return errors.Join(waitErr, err)
	}
	return nil
}

// limited is gophercloud's hook for 429: nothing was done, so every call is safe to
// retry.
func (r *retrier) limited(ctx context.Context, response *gophercloud.ErrUnexpectedResponseCode, _ error, count uint) error {
	if r.spent(ctx, count) {
		return *response
	}
	if err := r.wait(ctx, pause(response.ResponseHeader, count)); err != nil {
		return errors.Join(err, *response)
	}
	return nil
}

// passing are the HTTP statuses of a cloud that is overloaded or restarting.
func passing(status int) bool {
	return slices.Contains([]int{http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, status)
}

// broken reports whether the connection, rather than the request, failed. Refused
// certificates and unknown host names do not count: a retry would not help.
func broken(err error) bool {
	var failed *url.Error
	var network *net.OpError
	var unknown *net.DNSError
	if !errors.As(err, &failed) || errors.As(err, &unknown) && unknown.IsNotFound {
		return false
	}
	return failed.Timeout() || errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// repeatable are the methods that HTTP defines as idempotent (RFC 9110, 9.2.2), and
// logging in, which only creates a token.
func repeatable(method, address string) bool {
	u, err := url.Parse(address)
	login := err == nil && method == http.MethodPost && strings.HasSuffix(u.Path, "/auth/tokens")
	return login || slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodDelete}, method)
}

// pause returns the cloud's Retry-After, else a wait that doubles, with a random part
// so that calls that failed together are not retried together.
func pause(header http.Header, count uint) time.Duration {
	if asked, ok := retryAfter(header); ok {
		return asked
	}
	d := min(firstWait<<min(count-1, 10), longWait)
	return d/2 + rand.N(d/2)
}

func retryAfter(header http.Header) (time.Duration, bool) {
	value := header.Get("Retry-After")
	if value == "" {
		return 0, false
	}
	if seconds, err := strconv.Atoi(value); err == nil && seconds >= 0 {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter), true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return min(max(time.Until(at), 0), maxRetryAfter), true
}
