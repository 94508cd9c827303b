package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/images/imagetest"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
)

// server is a web server that sends a file as a test wants; each answer has
// its number, from 1.
func server(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) (string, *atomic.Int32) {
	t.Helper()
	var count atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(int(count.Add(1)), w, r) }))
	t.Cleanup(s.Close)
	return s.URL + "/node.qcow2?token=secret", &count
}

// part sends a file from an offset on and breaks off after some bytes.
func part(w http.ResponseWriter, data []byte, from, n int) {
	if from > 0 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(data)-1, len(data)))
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(data)-from))
	if from > 0 {
		w.WriteHeader(http.StatusPartialContent)
	}
	_, _ = w.Write(data[from:min(from+n, len(data))])
	if from+n < len(data) {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func quick() Opener { return Opener{Backoff: time.Millisecond, Stall: 5 * time.Second} }

func start(r *http.Request) int {
	var from int
	_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
	return from
}

func TestDownloadGoesOnWhereItBroke(t *testing.T) {
	t.Parallel()
	data := imagetest.Disk(1, 3)
	for name, answer := range map[string]func(n int, w http.ResponseWriter, r *http.Request){
		"with ranges": func(n int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"one"`)
			if n > 1 && r.Header.Get("If-Range") != `"one"` {
				t.Errorf("asked for a range of any file: %v", r.Header)
			}
			part(w, data, start(r), 1<<20)
		},
		"without ranges": func(n int, w http.ResponseWriter, r *http.Request) { part(w, data, 0, n<<20) },
		"with a bad hour": func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 2 || n == 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			part(w, data, start(r), 1<<20)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, count := server(t, answer)
			stream, err := quick().Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			got, err := io.ReadAll(stream)
			if err != nil || !bytes.Equal(got, data) || stream.Size != int64(len(data)) {
				t.Errorf("%d bytes of %d (%v)", len(got), stream.Size, err)
			}
			if count.Load() < 3 {
				t.Errorf("asked %d times", count.Load())
			}
		})
	}
}

func TestDownloadThatCannotBe(t *testing.T) {
	t.Parallel()
	data := imagetest.Disk(1, 1)
	for name, test := range map[string]struct {
		answer       func(n int, w http.ResponseWriter, r *http.Request)
		want, remedy string
		most         int32
	}{
		"missing": {func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, "404", "moved or been withdrawn", 1},
		"gone":    {func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }, "410", "moved or been withdrawn", 1},
		"login":   {func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "403", "requires a login", 1},
		"page": {func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<html>please log in</html>")
		}, "web page", "in a browser", 1},
		"changed": {func(n int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", fmt.Sprintf(`"%d"`, n))
			part(w, data, 0, 1000)
		}, "changed", "content does not change", 2},
		"always cut": {func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
		}, "502", "check the network", attempts},
		"other range": {func(n int, w http.ResponseWriter, _ *http.Request) {
			if n == 1 {
				part(w, data, 0, 1000)
			}
			w.Header().Set("Content-Range", "bytes 7-99/100")
			w.WriteHeader(http.StatusPartialContent)
		}, "changed", "content does not change", 2},
		"a file that has grown": {func(n int, w http.ResponseWriter, _ *http.Request) {
			if n == 1 {
				part(w, data, 0, 1000)
			}
			part(w, append(data, 0), 1000, len(data))
		}, "changed", "content does not change", 2},
		"no range": {func(n int, w http.ResponseWriter, _ *http.Request) {
			if n == 1 {
				part(w, data, 0, 1000)
			}
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		}, "changed", "content does not change", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, count := server(t, test.answer)
			stream, err := quick().Open(t.Context(), url)
			if err == nil {
				_, err = io.ReadAll(stream)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(fault.Remedy(err), test.remedy) || strings.Contains(err.Error(), "secret") {
				t.Errorf("ended with %v, remedy %q", err, fault.Remedy(err))
			}
			if count.Load() > test.most {
				t.Errorf("asked %d times", count.Load())
			}
		})
	}
}

func TestServerThatStopsSending(t *testing.T) {
	t.Parallel()
	data := imagetest.Disk(1, 1)
	url, _ := server(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 1 {
			w.Header().Set("Content-Length", strconv.Itoa(len(data)))
			_, _ = w.Write(data[:1000])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		part(w, data, start(r), len(data))
	})
	o := quick()
	o.Stall = 50 * time.Millisecond
	var said atomic.Bool
	o.Waiting = func(why string) { said.Store(strings.Contains(why, "stopped sending")) }
	stream, err := o.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(stream); err != nil || !bytes.Equal(got, data) || !said.Load() {
		t.Errorf("%d bytes (%v), told of the pause: %v", len(got), err, said.Load())
	}
}

func TestInterruptEndsADownload(t *testing.T) {
	t.Parallel()
	url, _ := server(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	ctx, cancel := context.WithCancelCause(t.Context())
	o := Opener{Backoff: time.Hour, Waiting: func(string) { cancel(fault.ErrInterrupted) }}
	if _, err := o.Open(ctx, url); !errors.Is(err, fault.ErrInterrupted) {
		t.Errorf("ended with %v", err)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	if _, err := quick().Open(t.Context(), "http://[::1/node.qcow2"); err == nil {
		t.Error("an address that is none was opened")
	}
	dir := t.TempDir()
	if _, err := quick().OpenFile(dir); err == nil {
		t.Error("a folder was opened")
	}
	if _, err := quick().OpenFile(filepath.Join(dir, "absent")); fault.Remedy(err) == "" {
		t.Errorf("no remedy: %v", err)
	}
	path := filepath.Join(dir, "long")
	if err := os.WriteFile(path, make([]byte, maxText+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := quick().ReadText(t.Context(), path); err == nil {
		t.Error("a list of more than the bound was read")
	}
}

// TestImagesOfABundle have the digest and the properties that the bill says; an item of another
// kind is none, and a file that is gone is told of.
func TestImagesOfABundle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, err := bundle.Create(dir, "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	digest, err := folder.Put(t.Context(), strings.NewReader("a disk"))
	if err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]bundle.Kind{"node": bundle.Machine, "kubectl": bundle.Binary} {
		item := bundle.Item{Name: name, Kind: kind, Version: "v1", Source: "here", License: "MIT", Size: digest.Size, SHA256: digest.SHA256, Path: string(kind) + "/" + name}
		if kind == bundle.Machine {
			item.Properties = map[string]string{"os_distro": "debian"}
		}
		if err := folder.Record(item); err != nil {
			t.Fatal(err)
		}
	}
	o := Opener{Bundle: dir}
	stream, err := o.OpenBundle("node")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if text, err := io.ReadAll(stream); err != nil || string(text) != "a disk" || stream.SHA256 != digest.SHA256 || stream.Properties["os_distro"] != "debian" {
		t.Errorf("%q %s %v (%v)", text, stream.SHA256, stream.Properties, err)
	}
	for _, name := range []string{"kubectl", "absent"} {
		if _, err := o.OpenBundle(name); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("no machine image %q", name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "machine", "node")); err != nil {
		t.Fatal(err)
	}
	if _, err := o.OpenBundle("node"); fault.Remedy(err) == "" {
		t.Errorf("without its file: %v", err)
	}
	if _, err := (Opener{Bundle: t.TempDir()}).OpenBundle("node"); err == nil {
		t.Error("a folder without a bundle was read")
	}
}
