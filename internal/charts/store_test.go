package charts

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
)

// pack makes an archive of a chart with some incompressible content.
func pack(t *testing.T, name, version string) []byte {
	t.Helper()
	ch := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: name, Version: version},
		Templates: []*chart.File{{Name: "templates/x.yaml", Data: []byte("# " + name + version)}}}
	path, err := chartutil.Save(ch, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func newStore(t *testing.T, options Options) *Store {
	t.Helper()
	if options.CacheDir == "" {
		options.CacheDir = t.TempDir()
	}
	if options.CacheSize == 0 {
		options.CacheSize = 1 << 30
	}
	s, err := NewStore(options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// repository serves an index and archives, and counts what is asked for.
type repository struct {
	*httptest.Server
	files map[string][]byte
	count atomic.Int32
}

func newRepository(t *testing.T, tls bool, files map[string][]byte) *repository {
	t.Helper()
	r := &repository{files: files}
	handler := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.count.Add(1)
		data, ok := r.files[q.URL.Path]
		if !ok {
			http.NotFound(w, q)
			return
		}
		w.Write(data) //nolint:errcheck // a test's answer
	})
	if tls {
		r.Server = httptest.NewTLSServer(handler)
	} else {
		r.Server = httptest.NewServer(handler)
	}
	t.Cleanup(r.Close)
	return r
}

func indexOf(entries string) []byte {
	return []byte("apiVersion: v1\nentries:\n" + entries + "generated: x\n")
}

func demoIndex(archive []byte) []byte {
	return indexOf(fmt.Sprintf(`  another:
  - version: 1.0.0
    description: |
      entries:
        demo: no
    urls:
    - wrong.tgz
  demo:
  - version: v1.1.0
    urls: [demo-1.1.0.tgz]
  # a comment
  - version: 1.0.0
    digest: %s
    urls:
    - files/demo-1.0.0.tgz
  "zzz":
  - version: 1.0.0
    urls: [wrong.tgz]
`, strings.TrimPrefix(Digest(archive), digestPrefix)))
}

func TestRepositoryIsAskedOnce(t *testing.T) {
	t.Parallel()
	archive := pack(t, "demo", "1.0.0")
	r := newRepository(t, false, map[string][]byte{"/charts/index.yaml": demoIndex(archive), "/charts/files/demo-1.0.0.tgz": archive})
	cacheDir := t.TempDir()
	reference := Reference{Repository: r.URL + "/charts", Name: "demo", Version: "v1.0.0"}
	first := newStore(t, Options{CacheDir: cacheDir})
	var waiting sync.WaitGroup
	for range 20 {
		waiting.Go(func() {
			loaded, digest, err := first.Load(context.Background(), reference)
			if err != nil || digest != Digest(archive) || loaded.Metadata.Version != "1.0.0" {
				t.Errorf("%v %s", err, digest)
			}
		})
	}
	waiting.Wait()
	if n := r.count.Load(); n != 2 {
		t.Errorf("%d requests", n)
	}
	// A store of a restarted process, with the address written otherwise.
	reference.Repository += "/"
	if _, _, err := newStore(t, Options{CacheDir: cacheDir, Offline: true}).Load(context.Background(), reference); err != nil {
		t.Error(err)
	}
	if n := r.count.Load(); n != 2 {
		t.Errorf("%d requests after a restart", n)
	}
}

// proves: F125
func TestPrivateCA(t *testing.T) {
	t.Parallel()
	archive := pack(t, "demo", "1.0.0")
	r := newRepository(t, true, map[string][]byte{"/index.yaml": demoIndex(archive), "/files/demo-1.0.0.tgz": archive})
	reference := Reference{Repository: r.URL, Name: "demo", Version: "1.0.0"}
	if _, _, err := newStore(t, Options{}).Load(context.Background(), reference); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the CA: %v", err)
	}
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := newStore(t, Options{TrustBundleFile: bundle}).Load(context.Background(), reference); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(bundle, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := newStore(t, Options{TrustBundleFile: bundle}).Load(context.Background(), reference); err == nil || !strings.Contains(err.Error(), "trust bundle") {
		t.Errorf("with a broken bundle: %v", err)
	}
}

func TestErrorsOfRepositories(t *testing.T) {
	t.Parallel()
	archive := pack(t, "demo", "1.0.0")
	good := map[string][]byte{"/index.yaml": demoIndex(archive), "/files/demo-1.0.0.tgz": archive}
	for name, c := range map[string]struct {
		files  map[string][]byte
		change func(*Reference)
		is     error
		want   string
	}{
		"no repository": {files: nil, want: "404"},
		"no chart":      {files: map[string][]byte{"/index.yaml": indexOf("")}, want: "has no chart demo"},
		"no version":    {files: good, change: func(r *Reference) { r.Version = "9.9.9" }, want: "has 2 versions of chart demo, but not 9.9.9"},
		"no archive":    {files: map[string][]byte{"/index.yaml": demoIndex(archive)}, want: "404"},
		"other bytes":   {files: map[string][]byte{"/index.yaml": demoIndex(archive), "/files/demo-1.0.0.tgz": []byte("x")}, want: "the repository's index has digest"},
		"pinned":        {files: good, change: func(r *Reference) { r.Digest = "sha256:00" }, is: ErrDigest, want: "instead of sha256:00"},
		"no chart in it": {files: map[string][]byte{"/index.yaml": indexOf("  demo:\n  - version: 1.0.0\n    urls: [x.tgz]\n"), "/x.tgz": []byte("x")},
			is: ErrInvalid, want: "the chart is invalid"},
		"another chart": {files: map[string][]byte{"/index.yaml": indexOf("  demo:\n  - version: 1.0.0\n    urls: [x.tgz]\n"), "/x.tgz": pack(t, "other", "1.0.0")},
			is: ErrInvalid, want: `its name is "other"`},
		"a file": {files: map[string][]byte{"/index.yaml": indexOf("  demo:\n  - version: 1.0.0\n    urls: ['file:///etc/passwd']\n")}, want: "only http and https"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t, false, c.files)
			reference := Reference{Repository: r.URL, Name: "demo", Version: "1.0.0"}
			if c.change != nil {
				c.change(&reference)
			}
			s := newStore(t, Options{})
			_, _, err := s.Load(context.Background(), reference)
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Fatalf("got %v", err)
			}
			if c.is == nil && (errors.Is(err, ErrInvalid) || errors.Is(err, ErrDigest) || errors.Is(err, ErrOffline)) {
				t.Errorf("%v is permanent", err)
			}
			before := r.count.Load()
			if _, _, err := s.Load(context.Background(), reference); err == nil {
				t.Error("no error the second time")
			}
			if n := r.count.Load(); n != before {
				t.Errorf("asked again at once: %d, %d", before, n)
			}
		})
	}
}

func TestIndexInJSONAndMirror(t *testing.T) {
	t.Parallel()
	archive := pack(t, "demo", "1.0.0")
	index, err := json.Marshal(map[string]any{"apiVersion": "v1", "entries": map[string]any{"demo": []any{map[string]any{"version": "1.0.0", "urls": []string{"d.tgz"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	r := newRepository(t, false, map[string][]byte{"/mirror/a/index.yaml": index, "/mirror/a/d.tgz": archive})
	s := newStore(t, Options{Mirrors: map[string]string{"https://": "https://nowhere.example.com/", "https://charts.example.com/": r.URL + "/mirror/"}})
	if _, _, err := s.Load(context.Background(), Reference{Repository: "https://charts.example.com/a", Name: "demo", Version: "1.0.0"}); err != nil {
		t.Error(err)
	}
}

func TestOCI(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	archive := pack(t, "demo", "1.0.0+x")
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), static.NewLayer(archive, chartLayer))
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(server.URL, "http://")
	tag, err := name.NewTag(host + "/charts/demo:1.0.0_x")
	if err == nil {
		err = remote.Write(tag, image)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(t, Options{})
	_, digest, err := s.Load(context.Background(), Reference{Repository: "oci://" + host + "/charts", Name: "demo", Version: "1.0.0+x"})
	if err != nil || digest != Digest(archive) {
		t.Errorf("%v %s", err, digest)
	}
	if _, _, err := s.Load(context.Background(), Reference{Repository: "oci://" + host + "/charts", Name: "demo", Version: "2.0.0"}); err == nil {
		t.Error("no error for a missing tag")
	}
}

func TestFolderComesFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive := pack(t, "demo", "1.0.0")
	index := Index{Charts: []Entry{{Repository: "https://Charts.example.com/a/", Name: "demo", Version: "1.0.0", File: "demo-1.0.0.tgz", Digest: Digest(archive)}}}
	text, err := json.Marshal(index)
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(dir, IndexFile), text, 0o600), os.WriteFile(filepath.Join(dir, "demo-1.0.0.tgz"), archive, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(t, Options{Dir: dir, Offline: true})
	reference := Reference{Repository: "https://charts.example.com/a", Name: "demo", Version: "v1.0.0"}
	if _, digest, err := s.Load(context.Background(), reference); err != nil || digest != Digest(archive) {
		t.Errorf("%v %s", err, digest)
	}
	reference.Version = "1.0.1"
	if _, _, err := s.Load(context.Background(), reference); !errors.Is(err, ErrOffline) {
		t.Errorf("offline: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "demo-1.0.0.tgz"), append(archive, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	reference.Version = "1.0.0"
	if _, _, err := s.Load(context.Background(), reference); !errors.Is(err, ErrDigest) {
		t.Errorf("changed archive: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, IndexFile), []byte(`{"charts": [{"file": "../x", "digest": "sha256:0"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewStore(Options{Dir: dir, CacheDir: t.TempDir()}); err == nil {
		t.Error("an index that leads out of the folder was read")
	}
}

func TestCacheIsBoundedAndVerified(t *testing.T) {
	t.Parallel()
	c := cache{dir: t.TempDir(), size: 250}
	for i := range 4 {
		if err := c.put(fmt.Sprintf("key%d", i), []byte(strings.Repeat(fmt.Sprint(i), 100))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
		if i == 1 {
			if _, ok := c.get("key0", ""); !ok { // used: it stays longer than key1
				t.Error("key0 is not there")
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	for key, want := range map[string]bool{"key0": false, "key1": false, "key2": true, "key3": true} {
		if _, ok := c.get(key, ""); ok != want {
			t.Errorf("%s: %v", key, ok)
		}
	}
	paths, err := filepath.Glob(filepath.Join(c.dir, "key3-*"))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	if err := os.WriteFile(paths[0], []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.get("key3", ""); ok {
		t.Error("a broken archive was used")
	}
}
