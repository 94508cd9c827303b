package upstream_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/upstream"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// base is where the tests' pins say that everything comes from; the tests
// reach their own server as a mirror of it.
const base = "https://upstream.test/release"

// site is an upstream on loopback that serves files with ranges and validators.
type site struct {
	*httptest.Server
	mu       sync.Mutex
	files    map[string][]byte
	requests []*http.Request
	// before may answer a request itself, by its number from 1.
	before func(n int, w http.ResponseWriter, r *http.Request) bool
}

func newSite(t *testing.T, files map[string][]byte) *site {
	t.Helper()
	s := &site{files: files}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	n, before := len(s.requests), s.before
	file, ok := s.files[strings.TrimPrefix(r.URL.EscapedPath(), "/")]
	s.mu.Unlock()
	if before != nil && before(n, w, r) {
		return
	}
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", `"`+sum(file)[:16]+`"`)
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file))
}

// seen returns the requests so far.
func (s *site) seen() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*http.Request(nil), s.requests...)
}

// cutOnce makes the first request end after n bytes of the body.
func (s *site) cutOnce(file []byte, n int) {
	s.before = func(request int, w http.ResponseWriter, _ *http.Request) bool {
		if request > 1 {
			return false
		}
		sendSome(w, file, n)
		panic(http.ErrAbortHandler)
	}
}

// sendSome announces a whole file and sends the start of it.
func sendSome(w http.ResponseWriter, file []byte, n int) {
	w.Header().Set("ETag", `"`+sum(file)[:16]+`"`)
	w.Header().Set("Content-Length", strconv.Itoa(len(file)))
	_, _ = w.Write(file[:n])
	w.(http.Flusher).Flush()
}

// options reach the site as the mirror of base.
func (s *site) options(pins ...component.Pin) upstream.Options {
	p := component.NewPins()
	for _, pin := range pins {
		p.Set(pin)
	}
	return upstream.Options{
		Pins: p, Backoff: time.Millisecond, Transport: s.Client().Transport,
		Mirrors: map[string]string{base: s.URL},
	}
}

func newFolder(t *testing.T) *bundle.Folder {
	t.Helper()
	return openFolder(t, t.TempDir())
}

func openFolder(t *testing.T, dir string) *bundle.Folder {
	t.Helper()
	folder, err := bundle.Create(dir, "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	return folder
}

func sum(content []byte) string {
	d := sha256.Sum256(content)
	return hex.EncodeToString(d[:])
}

// noise is content that looks like a program and does not compress.
func noise(seed uint64, size int) []byte {
	content := make([]byte, size)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = r.Read(content)
	copy(content, "\x7fELF")
	return content
}

func binary(name string) component.Component {
	return component.Component{Name: name, Kind: bundle.Binary, Version: "v1.0.0", License: "Apache-2.0", Path: "bin/" + name}
}

// pinned is the pin of a component whose file has the component's name.
func pinned(c component.Component, content []byte) component.Pin {
	return component.Pin{Name: c.Name, Version: c.Version, URL: base + "/" + c.Name, SHA256: sum(content)}
}

// archive is a .tar.gz of regular files.
func archive(t *testing.T, members map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	tw := tar.NewWriter(zipped)
	for name, content := range members {
		header := &tar.Header{Name: name, Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg}
		if err := errors.Join(tw.WriteHeader(header), write(tw, content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func write(w *tar.Writer, content []byte) error {
	_, err := w.Write(content)
	return err
}

// checkStored reads an item back by its name in the folder.
func checkStored(t *testing.T, folder *bundle.Folder, c component.Component, want []byte) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(folder.Dir(), c.Path))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s holds other bytes than upstream's (%d, want %d)", c.Path, len(got), len(want))
	}
	findings, err := folder.Verify(context.Background(), event.Discard{}, c.Name)
	if err != nil || len(findings) > 0 {
		t.Errorf("verifying %s: %v %v", c.Name, findings, err)
	}
}

// partialFiles are the names of what waits to be resumed.
func partialFiles(t *testing.T, folder *bundle.Folder) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(folder.Dir(), bundle.WorkDir, "partial"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// wantFault checks that err holds one fault with all of the texts in it.
func wantFault(t *testing.T, err error, exit fault.Exit, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, one := range fault.All(err) {
		text := one.Error() + " | " + fault.Remedy(one)
		found := fault.Remedy(one) != ""
		for _, want := range texts {
			found = found && strings.Contains(text, want)
		}
		if found {
			if got := fault.ExitCode(err); got != exit {
				t.Errorf("exit code %d, want %d", got, exit)
			}
			return
		}
	}
	t.Errorf("no fault with a remedy says %q in:\n%v", texts, err)
}

func newTLSServer(t *testing.T, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that clients refuse
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// chunked answers without saying how long the file is.
func chunked(file []byte) func(int, http.ResponseWriter, *http.Request) bool {
	return func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		_, _ = w.Write(file[:1])
		w.(http.Flusher).Flush()
		_, _ = w.Write(file[1:])
		return true
	}
}
