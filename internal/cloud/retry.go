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
	"syscall"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

const (
	// maxRetries is how often a call is made again: with the waits below
	// about half a minute, which is what the restart of an API process takes.
	maxRetries = 6
	// loginRetries is less: whoever waits for a login should soon hear that
	// nobody answers.
	loginRetries = 3
	firstWait    = 500 * time.Millisecond
	longWait     = 10 * time.Second
	// maxRetryAfter bounds what a cloud may ask for.
	maxRetryAfter = time.Minute
)

// retrier makes calls again that may be made again.
type retrier struct {
	most uint
	wait func(context.Context, time.Duration) error
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

// call is gophercloud's hook after a failed call: nil makes it again, an error
// ends it. Only calls without effect, or with the same effect when made
// twice, are made again; others only if they cannot have arrived.
func (r *retrier) call(ctx context.Context, method, address string, options *gophercloud.RequestOpts, err error, count uint) error {
	if ctx.Err() != nil || count > r.most || (options != nil && options.RawBody != nil) {
		return err // a stream cannot be sent again
	}
	var response gophercloud.ErrUnexpectedResponseCode
	answered := errors.As(err, &response)
	switch {
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

// limited is gophercloud's hook for 429: nothing was done, so that every call
// may be made again.
func (r *retrier) limited(ctx context.Context, response *gophercloud.ErrUnexpectedResponseCode, _ error, count uint) error {
	if err := r.wait(ctx, pause(response.ResponseHeader, count)); err != nil {
		return errors.Join(err, *response)
	}
	return nil
}

// passing are the statuses of a cloud that is overloaded or restarting.
func passing(status int) bool {
	return slices.Contains([]int{http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, status)
}

// broken says that the connection, not the request, was at fault. A
// certificate that is refused will be refused again, and a name that does not
// exist will not come to be.
func broken(err error) bool {
	var failed *url.Error
	var network *net.OpError
	var unknown *net.DNSError
	if !errors.As(err, &failed) || errors.As(err, &unknown) && unknown.IsNotFound {
		return false
	}
	return failed.Timeout() || errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// repeatable are the methods that HTTP calls idempotent (RFC 9110, 9.2.2), and
// logging in, which makes nothing but a token.
func repeatable(method, address string) bool {
	u, err := url.Parse(address)
	login := err == nil && method == http.MethodPost && strings.HasSuffix(u.Path, "/auth/tokens")
	return login || slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodDelete}, method)
}

// pause is what the cloud asked for in Retry-After, else a wait that doubles,
// with a random part so that calls that failed together do not come together.
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
