package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
)

const (
	// attempts is how often a download that makes no progress is tried.
	attempts = 5
	// longestPause is the longest wait between two attempts.
	longestPause = 30 * time.Second
)

var (
	errStalled = errors.New("the server stopped sending")
	errChanged = errors.New("the file changed on the server during the download")
	errPage    = errors.New("the server sent a web page instead of an image")
)

// download reads a URL to its end. When the connection breaks it asks for the
// rest (RFC 9110, section 14), so that its reader sees one stream.
type download struct {
	Opener
	ctx       context.Context
	address   string
	validator string
	size      int64 // -1 unknown
	at        int64
	body      io.ReadCloser
	failures  int
}

func (o Opener) download(ctx context.Context, address string) (*download, error) {
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	o.Stall, o.Backoff = cmp.Or(o.Stall, time.Minute), cmp.Or(o.Backoff, 500*time.Millisecond)
	d := &download{Opener: o, ctx: ctx, address: address, size: -1}
	err := d.connect()
	for err != nil && d.again(err) {
		err = d.connect()
	}
	if err != nil {
		return nil, d.explain(err)
	}
	return d, nil
}

// Read reads on over broken connections.
func (d *download) Read(p []byte) (int, error) {
	for {
		n, err := d.read(p)
		d.at += int64(n)
		switch {
		case n > 0:
			d.failures = 0
			return n, nil
		case err == io.EOF && (d.size < 0 || d.at >= d.size):
			return 0, io.EOF
		case err == nil:
			continue
		}
		if err == io.EOF {
			err = fmt.Errorf("the file ends after %d of %d bytes", d.at, d.size)
		}
		for !d.reconnected(&err) {
			if !d.again(err) {
				return 0, d.explain(err)
			}
		}
	}
}

// reconnected drops what broke and asks for the rest.
func (d *download) reconnected(err *error) bool {
	if d.body != nil {
		d.body.Close()
		d.body = nil
	}
	if d.failures == 0 {
		return false // pause first
	}
	*err = d.connect()
	return *err == nil
}

func (d *download) read(p []byte) (int, error) {
	if d.body == nil {
		return 0, io.ErrUnexpectedEOF
	}
	return d.body.Read(p)
}

// again pauses before another attempt; false when there shall be none.
func (d *download) again(err error) bool {
	var status *statusError
	if d.ctx.Err() != nil || errors.Is(err, errChanged) || errors.Is(err, errPage) || errors.As(err, &status) && !status.passing() {
		return false
	}
	d.failures++
	if d.failures >= attempts {
		return false
	}
	pause := min(d.Backoff<<(d.failures-1), longestPause)
	if status != nil && status.after > 0 {
		pause = min(status.after, longestPause)
	}
	pause += rand.N(pause/4 + 1)
	if d.Waiting != nil {
		d.Waiting(fmt.Sprintf("%v; resuming in %s", bare(err), pause.Round(100*time.Millisecond)))
	}
	select {
	case <-d.ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// connect asks for the file, or for what is missing of it.
func (d *download) connect() error {
	ctx, cancel := context.WithCancelCause(d.ctx)
	timer := time.AfterFunc(d.Stall, func() { cancel(errStalled) })
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.address, nil)
	if err != nil {
		cancel(nil)
		return err
	}
	request.Header.Set("Accept-Encoding", "identity") // offsets and digests are of the file as it is
	if d.at > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.at))
		if d.validator != "" {
			request.Header.Set("If-Range", d.validator)
		}
	}
	response, err := d.Client.Do(request)
	if err != nil {
		timer.Stop()
		err = cmp.Or(stalled(ctx), err)
		cancel(nil)
		return err
	}
	d.body = &watched{response.Body, ctx, cancel, timer, d.Stall}
	if err := d.accept(response); err != nil {
		d.body.Close()
		d.body = nil
		return err
	}
	return nil
}

func stalled(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, errStalled) {
		return cause
	}
	return nil
}

// accept brings the answer to the place where reading goes on.
func (d *download) accept(response *http.Response) error {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case response.StatusCode == http.StatusOK && kind == "text/html":
		return errPage
	case response.StatusCode == http.StatusPartialContent && d.at > 0:
		var from, to, total int64
		if n, _ := fmt.Sscanf(response.Header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &total); n < 2 || from != d.at || n == 3 && d.size >= 0 && total != d.size {
			return errChanged
		}
		return nil
	case response.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return errChanged
	case response.StatusCode != http.StatusOK:
		return &statusError{response.StatusCode, retryAfter(response.Header.Get("Retry-After"))}
	}
	validator := validatorOf(response.Header)
	if d.at == 0 {
		d.validator, d.size = validator, response.ContentLength
		return nil
	}
	if validator != d.validator || d.size != response.ContentLength {
		return errChanged
	}
	// The server has no ranges: what was read already is read once more. The
	// digest tells if it was another file after all.
	_, err := io.CopyN(io.Discard, d.body, d.at)
	return err
}

// Close ends the download.
func (d *download) Close() error {
	if d.body == nil {
		return nil
	}
	return d.body.Close()
}

// explain makes the fault of a download that failed; a query, which may hold a
// signature, stays out of it.
func (d *download) explain(err error) error {
	if d.ctx.Err() != nil {
		return context.Cause(d.ctx)
	}
	remedy := "check the network and the proxy, then run the same command again"
	var status *statusError
	switch {
	case errors.Is(err, errPage):
		remedy = "open the URL in a browser: it returns a login page, an error or a directory listing"
	case errors.Is(err, errChanged):
		remedy = "run the same command again; if the error persists, use a URL whose content does not change"
	case errors.As(err, &status) && (status.code == http.StatusNotFound || status.code == http.StatusGone):
		remedy = "correct the URL: the file may have moved or been withdrawn"
	case errors.As(err, &status) && !status.passing():
		remedy = "check whether the server, or a proxy in between, requires a login"
	}
	return fault.New(redacted(d.address), bare(err), remedy)
}

func redacted(address string) string {
	text, _, _ := strings.Cut(address, "?")
	return text
}

// bare removes the URL that net/http repeats.
func bare(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// validatorOf is what If-Range may hold: a strong entity tag or a date (RFC
// 9110, section 13.1.5), else "".
func validatorOf(h http.Header) string {
	if tag := h.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return tag
	}
	return h.Get("Last-Modified")
}

type statusError struct {
	code  int
	after time.Duration
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the server answered %d %s", e.code, http.StatusText(e.code))
}

// passing says that another attempt may succeed.
func (e *statusError) passing() bool {
	return e.code == http.StatusRequestTimeout || e.code == http.StatusTooManyRequests || e.code >= 500
}

func retryAfter(header string) time.Duration {
	seconds, _ := strconv.Atoi(header)
	return max(0, time.Duration(seconds)*time.Second)
}

// watched is a body that must go on yielding bytes.
type watched struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	stall  time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(w.stall)
	n, err := w.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = cmp.Or(stalled(w.ctx), err)
	}
	w.timer.Stop() // a slow reader is not a stalled server
	return n, err
}

func (w *watched) Close() error {
	w.timer.Stop()
	w.cancel(nil)
	return w.ReadCloser.Close()
}
