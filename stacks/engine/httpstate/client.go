package httpstate

import (
	"bytes"
	"context"
	"crypto/md5" // as the protocol has it: against bytes that were changed by accident
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/stateurl"
)

const (
	// requestTime is how long the server may take for one answer.
	requestTime = time.Minute
	// maxDocument is the maximum size of a state in bytes.
	maxDocument = 256 << 20
	// attempts is how often an operation is tried when its answer does not arrive, or says that the
	// server cannot answer now; between the first two a [Client] waits for its pause.
	attempts = 5
)

// Client works on one state.
type Client struct {
	at                 address
	username, password string
	http               *http.Client
	pause              time.Duration
	// serial and lineage belong to the document that was read or written last.
	serial  int64
	lineage string
}

// New returns a client of the state at a URL. environ has the login, if the server requires one.
func New(stateURL string, environ []string) (*Client, error) {
	at, err := parse(stateURL)
	if err != nil {
		return nil, fmt.Errorf("address of the state: %w", err)
	}
	c := &Client{at: at, pause: 500 * time.Millisecond}
	// A redirect would turn a POST into a GET and could lead the login elsewhere.
	c.http = &http.Client{Timeout: requestTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		switch name {
		case stateurl.UsernameVariable:
			c.username = value
		case stateurl.PasswordVariable:
			c.password = value
		}
	}
	return c, nil
}

// answer is what the server said.
type answer struct {
	status int
	body   []byte
}

func (a answer) in(statuses ...int) bool { return slices.Contains(statuses, a.status) }

// busy reports whether the answer may be different soon.
func (a answer) busy() bool {
	return a.in(http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout)
}

// once sends one request. lock is the ID of the lock under which a change is made.
func (c *Client) once(ctx context.Context, method, to, lock string, body []byte) (answer, error) {
	if lock != "" {
		u, err := url.Parse(to)
		if err != nil {
			return answer{}, err
		}
		query := u.Query()
		query.Set("ID", lock)
		u.RawQuery = query.Encode()
		to = u.String()
	}
	request, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if c.username != "" || c.password != "" {
		request.SetBasicAuth(c.username, c.password)
	}
	if body != nil {
		sum := md5.Sum(body)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	if err == nil && len(text) > maxDocument {
		err = fmt.Errorf("the answer is larger than %d MiB", maxDocument>>20)
	}
	return answer{response.StatusCode, text}, err
}

// send sends a request until there is an answer that will not change by itself. It calls settled
// after each request without such an answer: the server may have acted although its answer was
// lost.
func (c *Client) send(ctx context.Context, doing, method, to, lock string, body []byte, settled func() bool) (answer, error) {
	pause := c.pause
	for attempt := 1; ; attempt++ {
		a, err := c.once(ctx, method, to, lock, body)
		if err == nil && !a.busy() {
			return a, nil
		}
		if settled != nil && settled() {
			return answer{status: http.StatusOK}, nil
		}
		if err != nil && (attempt == attempts || ctx.Err() != nil) {
			return a, c.fault(doing, err, "look at the server and the way to it, then run the command again: it continues")
		}
		if attempt == attempts {
			return a, c.refused(doing, a)
		}
		select {
		case <-ctx.Done():
			return a, c.fault(doing, context.Cause(ctx), "run the command again: it continues")
		case <-time.After(pause):
		}
		pause *= 2
	}
}
