package cloud

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

func TestPauses(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, test := range map[string]struct {
		header   string
		count    uint
		min, max time.Duration
	}{
		"first":       {"", 1, firstWait / 2, firstWait},
		"third":       {"", 3, 2 * firstWait, 4 * firstWait},
		"bounded":     {"", 50, longWait / 2, longWait},
		"asked":       {"7", 1, 7 * time.Second, 7 * time.Second},
		"too long":    {"7200", 1, maxRetryAfter, maxRetryAfter},
		"date":        {now.Add(20 * time.Second).UTC().Format(http.TimeFormat), 1, 15 * time.Second, 20 * time.Second},
		"date passed": {now.Add(-time.Hour).UTC().Format(http.TimeFormat), 1, 0, 0},
		"garbage":     {"soon", 1, firstWait / 2, firstWait},
	} {
		header := http.Header{}
		if test.header != "" {
			header.Set("Retry-After", test.header)
		}
		if got := pause(header, test.count); got < test.min || got > test.max {
			t.Errorf("%s: pause %s, want %s to %s", name, got, test.min, test.max)
		}
	}
}

func TestWhichCallsAreMadeAgain(t *testing.T) {
	t.Parallel()
	const servers = "https://n/v2.1/servers"
	refused := &url.Error{Op: "Post", URL: servers, Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	reset := &url.Error{Op: "Post", URL: servers, Err: &net.OpError{Op: "read", Err: syscall.ECONNRESET}}
	answer := func(status int) error { return gophercloud.ErrUnexpectedResponseCode{Actual: status} }
	for name, test := range map[string]struct {
		method, url string
		err         error
		count       uint
		body        io.Reader
		again       bool
	}{
		"GET 503":               {"GET", servers, answer(503), 1, nil, true},
		"DELETE 500":            {"DELETE", servers, answer(500), 1, nil, true},
		"GET 404":               {"GET", servers, answer(404), 1, nil, false},
		"GET 409":               {"GET", servers, answer(409), 1, nil, false},
		"POST 503":              {"POST", servers, answer(503), 1, nil, false},
		"PATCH 503":             {"PATCH", servers, answer(503), 1, nil, false},
		"login 503":             {"POST", "https://k/v3/auth/tokens", answer(503), 1, nil, true},
		"the last":              {"GET", servers, answer(503), maxRetries, nil, true},
		"one too many":          {"GET", servers, answer(503), maxRetries + 1, nil, false},
		"a stream":              {"PUT", servers, answer(503), 1, strings.NewReader("x"), false},
		"POST that was refused": {"POST", servers, refused, 1, nil, true},
		"POST that was reset":   {"POST", servers, reset, 1, nil, false},
		"GET that was reset":    {"GET", servers, reset, 1, nil, true},
		"GET cut short":         {"GET", servers, &url.Error{Op: "Get", URL: servers, Err: io.EOF}, 1, nil, true},
		"no such host":          {"GET", servers, &url.Error{Op: "Get", Err: &net.OpError{Op: "dial", Err: &net.DNSError{IsNotFound: true}}}, 1, nil, false},
		"not understood":        {"GET", servers, errors.New("invalid character"), 1, nil, false},
	} {
		waits := 0
		r := &retrier{most: maxRetries, wait: func(context.Context, time.Duration) error { waits++; return nil }}
		err := r.call(t.Context(), test.method, test.url, &gophercloud.RequestOpts{RawBody: test.body}, test.err, test.count)
		if (err == nil) != test.again || (waits == 1) != test.again {
			t.Errorf("%s: %v after %d waits, want again %v", name, err, waits, test.again)
		}
	}
}

// TestWhoIsHastyDoesNotRetryForLong: in a diagnosis a service that fails is known in seconds,
// also where it is asked for its versions, which has no context of its own.
func TestWhoIsHastyDoesNotRetryForLong(t *testing.T) {
	t.Parallel()
	failed := gophercloud.ErrUnexpectedResponseCode{Actual: 503}
	quick, slow := context.WithValue(t.Context(), hasty{}, true), t.Context()
	for name, test := range map[string]struct {
		ctx     context.Context
		hurried bool
		count   uint
		again   bool
	}{
		"the last of a hasty call": {quick, false, hastyRetries, true}, "one more": {quick, false, hastyRetries + 1, false}, "another call": {slow, true, hastyRetries + 1, true},
		"versions": {context.Background(), true, hastyRetries + 1, false}, "versions for others": {context.Background(), false, hastyRetries + 1, true},
	} {
		r := &retrier{most: maxRetries, wait: func(context.Context, time.Duration) error { return nil }}
		r.hurried.Store(test.hurried)
		if err := r.call(test.ctx, "GET", "https://nova/", &gophercloud.RequestOpts{}, failed, test.count); (err == nil) != test.again {
			t.Errorf("%s, after 503: %v", name, err)
		}
		if err := r.limited(test.ctx, &failed, nil, test.count); (err == nil) != test.again {
			t.Errorf("%s, after 429: %v", name, err)
		}
	}
}

func TestClockOffset(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, test := range map[string]struct{ date, before, after, want time.Duration }{
		"same second":    {0, 200 * time.Millisecond, 900 * time.Millisecond, 0},
		"written before": {0, 0, 3 * time.Second, 0},
		"ahead":          {time.Minute, 0, time.Second, 59 * time.Second},
		"behind":         {-time.Minute, 0, time.Second, -59 * time.Second},
	} {
		c := &clock{}
		c.note(at.Add(test.date), at.Add(test.before), at.Add(test.after))
		if c.offset != test.want {
			t.Errorf("%s: offset %s, want %s", name, c.offset, test.want)
		}
	}
	c := &clock{}
	c.note(at.Add(time.Minute), at, at)
	c.note(at, at, at) // one answer that agrees shows that the clock is right
	if c.offset != 0 {
		t.Errorf("offset %s", c.offset)
	}
}

func TestMessagesOfAllServices(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"error": {"code": 401, "message": "The request requires authentication.", "title": "Unauthorized"}}`: "The request requires authentication.",
		`{"itemNotFound": {"code": 404, "message": "Flavor x could not be found."}}`:                           "Flavor x could not be found.",
		`{"NeutronError": {"type": "T", "message": "No more IP addresses", "detail": ""}}`:                     "No more IP addresses",
		`{"faultcode": "Client", "faultstring": "Quota has been met", "debuginfo": null}`:                      "Quota has been met",
		`{"code": 404, "title": "Not Found", "description": "Secret not found."}`:                              "Secret not found.",
		`{"badRequest": "text alone"}`:            "text alone",
		`<html><head>403 Forbidden</head></html>`: "",
		``: "",
	} {
		if got := Message([]byte(body)); got != want {
			t.Errorf("%s: message %q, want %q", body, got, want)
		}
	}
}
