package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// carrier is the transport of all requests, of files and of registries alike.
// It refuses plain HTTP off this machine (also as the target of a redirect),
// ends connections on which nothing comes any more, and turns the answers that
// ask for another attempt into errors. The last is more than a RoundTripper
// should do, but the registry client drops the Retry-After header.
type carrier struct {
	next  http.RoundTripper
	stall time.Duration
}

var (
	errStalled   = errors.New("the server stopped sending")
	errPlainHTTP = errors.New("plain HTTP is refused: anyone in between could read and change it")
)

// networkError marks what another attempt may cure.
type networkError struct{ err error }

func (e *networkError) Error() string { return e.err.Error() }
func (e *networkError) Unwrap() error { return e.err }

// statusError is an answer of a server that is not the content.
type statusError struct {
	code  int
	after time.Duration // of Retry-After; 0 when there was none
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the server answered %d %s", e.code, http.StatusText(e.code))
}

func temporary(code int) bool {
	switch code {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// RoundTrip implements http.RoundTripper.
func (c *carrier) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" && !loopback(req.URL.Hostname()) {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, errPlainHTTP
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(c.stall, func() { cancel(errStalled) })
	resp, err := c.next.RoundTrip(req.WithContext(ctx))
	if err == nil && temporary(resp.StatusCode) {
		resp.Body.Close()
		err = &statusError{resp.StatusCode, retryAfter(resp.Header.Get("Retry-After"), time.Now())}
	}
	if err != nil {
		timer.Stop()
		err = network(ctx, err)
		cancel(nil)
		return nil, err
	}
	resp.Body = &watched{body: resp.Body, ctx: ctx, cancel: cancel, timer: timer, stall: c.stall}
	return resp, nil
}

// network marks an error of the network, and names a stall, which shows only
// as a cancelled context.
func network(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errStalled) {
		err = cause
	}
	return &networkError{err}
}

// watched is a body that must go on yielding bytes.
type watched struct {
	body   io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	stall  time.Duration
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.body.Read(b)
	if n > 0 {
		w.timer.Reset(w.stall)
	}
	if err != nil && err != io.EOF {
		err = network(w.ctx, err)
	}
	return n, err
}

func (w *watched) Close() error {
	w.timer.Stop()
	w.cancel(nil)
	return w.body.Close()
}

// retryAfter reads the header of RFC 9110 section 10.2.3: seconds or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// transient reports whether another attempt may succeed.
func transient(err error) bool {
	var marked *networkError
	var certificate *tls.CertificateVerificationError
	var lookup *net.DNSError
	switch {
	case !errors.As(err, &marked), errors.As(err, &certificate):
		return false
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return false
	}
	return true
}

// bare removes what net/http wraps around an error: it would repeat the URL,
// after a redirect one with a signature in it.
func bare(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
