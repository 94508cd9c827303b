package images

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/images/imagetest"
	"github.com/slipway-sh/slipway/images/manifest"
	"github.com/slipway-sh/slipway/images/source"
	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// fixture is a sandbox with a syncer for its project demo.
type fixture struct {
	*Syncer
	sandbox *sandboxtest.Cloud
	calls   *callCounter
	events  *event.Recorder
	dir     string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{sandbox: sandboxtest.Start(t), events: &event.Recorder{}, dir: t.TempDir()}
	c := open(t, f.sandbox, "sandbox")
	f.calls = &callCounter{next: c.Provider.HTTPClient.Transport}
	c.Provider.HTTPClient.Transport = f.calls
	glance, err := NewGlance(c)
	if err != nil {
		t.Fatal(err)
	}
	f.Syncer = &Syncer{Glance: glance, Events: f.events, Source: source.Opener{Backoff: time.Millisecond}, TempDir: t.TempDir(),
		Lease: 2 * time.Second, Poll: 2 * time.Millisecond}
	return f
}

func open(t *testing.T, sandbox *sandboxtest.Cloud, name string) *cloud.Cloud {
	t.Helper()
	text, err := os.ReadFile(sandbox.CloudsYAML())
	if err != nil {
		t.Fatal(err)
	}
	c, err := cloud.Open(t.Context(), cloud.Options{Cloud: name, CloudsYAML: text})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// callCounter counts calls by method.
type callCounter struct {
	next http.RoundTripper
	mu   sync.Mutex
	list []string
}

func (c *callCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.list = append(c.list, r.Method+" "+r.URL.Path)
	c.mu.Unlock()
	return c.next.RoundTrip(r)
}

func (c *callCounter) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.list
	c.list = nil
	return list
}

// file writes an image to the fixture's folder.
func (f *fixture) file(t *testing.T, name string, data []byte) config.File {
	t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return config.File(path)
}

func sha256of(data []byte) string { sum := sha256.Sum256(data); return hex.EncodeToString(sum[:]) }
func sha512of(data []byte) string { sum := sha512.Sum512(data); return hex.EncodeToString(sum[:]) }

// node is an image of the manifest from a file.
func (f *fixture) node(t *testing.T, name string, data []byte) manifest.Image {
	t.Helper()
	return manifest.Image{Name: name, Key: name, File: f.file(t, name, data), Format: "qcow2", SHA512: sha512of(data), KubernetesVersion: "v1.34.2",
		OS: manifest.OS{Distro: "ubuntu", Version: "24.04", Type: "linux", AdminUser: "ubuntu"}, Visibility: "private", Method: manifest.MethodUpload, BuildDate: "2024-02-29"}
}

func list(images ...manifest.Image) *manifest.Manifest {
	return &manifest.Manifest{Spec: manifest.Spec{MaxDisk: 100, Images: images}}
}

// sync syncs and returns the only result.
func (f *fixture) sync(t *testing.T, i manifest.Image) Result {
	t.Helper()
	results, err := f.Sync(t.Context(), list(i))
	if err != nil || len(results) != 1 {
		t.Fatalf("results %+v (%v)", results, err)
	}
	return results[0]
}

// all lists the images of the project.
func (f *fixture) all(t *testing.T) []Record {
	t.Helper()
	seen, err := f.Glance.List(t.Context(), false, false)
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := f.Glance.List(t.Context(), false, true)
	if err != nil {
		t.Fatal(err)
	}
	return append(seen, hidden...)
}

func (f *fixture) bytes(t *testing.T, id string) []byte {
	t.Helper()
	body, err := imagedata.Download(t.Context(), f.Glance.client, id).Extract()
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// other uploads an image without Slipway, as a user of the sandbox.
func (f *fixture) other(t *testing.T, by sandboxtest.Clients, data []byte, o images.CreateOpts) string {
	t.Helper()
	o.ContainerFormat = "bare"
	client := by.Image(t)
	i, err := images.Create(t.Context(), client, o).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if data != nil {
		if err := imagedata.Upload(t.Context(), client, i.ID, bytes.NewReader(data)).ExtractErr(); err != nil {
			t.Fatal(err)
		}
	}
	return i.ID
}

// web serves bytes under a name.
func web(t *testing.T, name string, data []byte) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Unix(1, 0), bytes.NewReader(data))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/" + name
}

func qcow2(seed uint64) []byte {
	return imagetest.Qcow2(imagetest.Disk(seed, 2), imagetest.Options{Compressed: true})
}
