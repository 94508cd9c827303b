package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/slipway-sh/slipway/images/imagetest"
	"github.com/slipway-sh/slipway/internal/fault"
)

// TestAnswersThatCanBeGoneOnWith, and some that cannot: the rest is of the same file, from where it
// broke, of whatever the server says about its size.
func TestAnswersThatCanBeGoneOnWith(t *testing.T) {
	t.Parallel()
	data := imagetest.Disk(1, 1)
	rest := func(contentRange string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Range", contentRange)
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(data[1000:])
		}
	}
	whole := func(w http.ResponseWriter) { part(w, data, 0, len(data)) }
	sized := func(w http.ResponseWriter) { part(w, data, 0, 1000) }
	// A file of a size that is not told looks whole wherever it breaks, but for the way it ends.
	unsized := func(w http.ResponseWriter) {
		_, _ = w.Write(data[:1000])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	again := func(w http.ResponseWriter) {
		_, _ = w.Write(data[:2000])
		_ = http.NewResponseController(w).Flush()
		_, _ = w.Write(data[2000:])
	}
	for name, test := range map[string]struct {
		first, second func(w http.ResponseWriter)
		want          string
	}{
		"the rest":                    {sized, rest("bytes 1000-1048575/1048576"), ""},
		"the rest, of unknown size":   {sized, rest("bytes 1000-1048575/*"), ""},
		"the rest, of half a range":   {sized, rest("bytes 1000"), "changed"},
		"the rest, of no range":       {sized, rest(""), "changed"},
		"no size, then the rest":      {unsized, rest("bytes 1000-1048575/1048576"), ""},
		"no size, then all of it":     {unsized, again, ""},
		"a size that was not there":   {unsized, whole, "changed"},
		"a part that nobody asked of": {rest("bytes 0-1048575/1048576"), whole, "206"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := server(t, func(n int, w http.ResponseWriter, r *http.Request) {
				if n > 1 {
					test.second(w)
					return
				}
				if r.Header.Get("Range") != "" {
					t.Errorf("asked for a part at first: %v", r.Header)
				}
				test.first(w)
			})
			var got []byte
			stream, err := quick().Open(t.Context(), url)
			if err == nil {
				defer stream.Close()
				got, err = io.ReadAll(stream)
			}
			if (err == nil) != (test.want == "") || err == nil && !bytes.Equal(got, data) || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%d bytes, %v, want %q", len(got), err, test.want)
			}
		})
	}
}

// TestPausesBeforeAnotherAttempt: as long as the server asks for, but for half a minute at most, and
// otherwise our own.
func TestPausesBeforeAnotherAttempt(t *testing.T) {
	t.Parallel()
	for after, want := range map[string][2]time.Duration{"7": {7 * time.Second, 9 * time.Second}, "900": {longestPause, 38 * time.Second}, "": {longestPause, 38 * time.Second}, "soon": {longestPause, 38 * time.Second}} {
		url, _ := server(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		ctx, cancel := context.WithCancel(t.Context())
		var said string
		o := Opener{Backoff: time.Hour, Waiting: func(why string) {
			said = why
			cancel()
		}}
		if _, err := o.Open(ctx, url); !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
		_, text, _ := strings.Cut(said, "resuming in ")
		if pause, err := time.ParseDuration(text); err != nil || pause < want[0] || pause > want[1] {
			t.Errorf("after %q: %q, want from %s to %s", after, said, want[0], want[1])
		}
	}
}

// TestClosedDownloadsLetGoOfTheServer, which need not send what nobody reads.
func TestClosedDownloadsLetGoOfTheServer(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	url, _ := server(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("bytes"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	stream, err := Opener{Stall: time.Hour}.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stream, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-gone:
	case <-time.After(20 * time.Second):
		t.Error("the server is still asked")
	}
}

// TestServersThatAreNotThere are tried some times, and then told of without what the address hides.
func TestServersThatAreNotThere(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	stream, err := quick().Open(t.Context(), s.URL+"/node.qcow2?token=secret")
	if stream != nil || err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "secret") || !strings.Contains(fault.Remedy(err), "check the network") {
		t.Errorf("%v, %v", stream, err)
	}
}

// TestWhatTellsFilesApart is a strong tag, or the date.
func TestWhatTellsFilesApart(t *testing.T) {
	t.Parallel()
	const date = "Fri, 02 Jan 2026 03:04:05 GMT"
	for tag, want := range map[string]string{`"one"`: `"one"`, `W/"one"`: date, "": date} {
		h := http.Header{}
		h.Set("Last-Modified", date)
		h.Set("ETag", tag)
		if got := validatorOf(h); got != want {
			t.Errorf("%s: %s, want %s", tag, got, want)
		}
	}
}

// TestAnswersThatPass are worth another attempt.
func TestAnswersThatPass(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]bool{408: true, 429: true, 500: true, 503: true, 400: false, 403: false, 404: false, 499: false, 206: false} {
		if got := (&statusError{code: code}).passing(); got != want {
			t.Errorf("%d: %t", code, got)
		}
	}
}

// TestAServerThatStoppedIsTold instead of what the connection says of it; an end is an end.
func TestAServerThatStoppedIsTold(t *testing.T) {
	t.Parallel()
	reset := errors.New("connection reset")
	for name, test := range map[string]struct{ cause, broke, want error }{
		"it stopped": {errStalled, context.Canceled, errStalled}, "it broke": {nil, reset, reset}, "somebody else gave up": {reset, context.Canceled, context.Canceled}, "it ended": {errStalled, io.EOF, io.EOF},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if test.cause != nil {
			cancel(test.cause)
		}
		w := &watched{io.NopCloser(iotest.ErrReader(test.broke)), ctx, cancel, time.NewTimer(time.Hour), time.Hour}
		if _, err := w.Read(make([]byte, 1)); err != test.want {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		w.ReadCloser = io.NopCloser(strings.NewReader("x"))
		if n, err := w.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("%s: a byte that came: %d, %v", name, n, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestTextsOfFilesAndAddresses: up to 4 MiB; what is wrong is told once, with a fix.
func TestTextsOfFilesAndAddresses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full := filepath.Join(dir, "full")
	if err := os.WriteFile(full, make([]byte, maxText), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := quick().ReadText(t.Context(), full); err != nil || len(text) != maxText {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	url, _ := server(t, func(_ int, w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("key")) })
	if text, err := quick().ReadText(t.Context(), url); err != nil || string(text) != "key" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := quick().ReadText(t.Context(), dir); err == nil || text != nil || fault.Remedy(err) != "name the file of the image" {
		t.Errorf("a folder: %q, %v", text, err)
	}
	absent := filepath.Join(dir, "absent")
	if _, err := quick().ReadText(t.Context(), absent); fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(fault.Remedy(err), "docs/guides/images.md") {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := quick().OpenFile(absent); err == nil || strings.Count(err.Error(), absent) != 1 {
		t.Errorf("an image that is not there: %v", err)
	}
	for text, want := range map[string]bool{"https://a": true, "http://a": true, "ftp://a": false, "/https://a": false, "a": false} {
		if IsAddress(text) != want {
			t.Errorf("%s is an address: %t", text, !want)
		}
	}
}
