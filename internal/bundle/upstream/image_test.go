package upstream_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/upstream"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// hub is a registry on loopback that can be made to misbehave.
type hub struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
	ranges   []string
	before   func(path string, w http.ResponseWriter, next http.Handler, r *http.Request) bool
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{}
	next := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		if r.Method == http.MethodGet && r.URL.Path != "/v2/" {
			h.requests = append(h.requests, r.URL.Path)
		}
		before := h.before
		h.mu.Unlock()
		if before == nil || !before(r.URL.Path, w, next, r) {
			next.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hub) host() string { return strings.TrimPrefix(h.URL, "http://") }

// fetched returns what was asked for since the last call.
func (h *hub) fetched() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	got := h.requests
	h.requests = nil
	return got
}

func (h *hub) options(pins ...component.Pin) upstream.Options {
	p := component.NewPins()
	for _, pin := range pins {
		p.Set(pin)
	}
	return upstream.Options{Pins: p, Backoff: time.Millisecond, Transport: h.Client().Transport,
		Mirrors: map[string]string{"registry.test": h.host() + "/cache"}}
}

func imageComponent() component.Component {
	return component.Component{Name: "app", Kind: bundle.Image, Version: "v1.0.0", License: "Apache-2.0", Ref: "registry.test/team/app:v1.0.0"}
}

func pinnedImage(c component.Component, digest v1.Hash) component.Pin {
	return component.Pin{Name: c.Name, Version: c.Version, Image: c.Ref, Digest: digest.String()}
}

func randomImage(t *testing.T, arch string) v1.Image {
	t.Helper()
	image, err := random.Image(50_000, 3)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config.OS, config.Architecture = "linux", arch
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// pushIndex puts an index of images by architecture where the mirror has the
// component's, and returns its digest.
func (h *hub) pushIndex(t *testing.T, images map[string]v1.Image) v1.Hash {
	t.Helper()
	index := v1.ImageIndex(empty.Index)
	for arch, image := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	index = mutate.IndexMediaType(index, types.OCIImageIndex)
	ref, err := name.ParseReference(h.host() + "/cache/team/app:v1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, index); err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	h.fetched()
	return digest
}

func digestOf(t *testing.T, image v1.Image) v1.Hash {
	t.Helper()
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func checkImage(t *testing.T, folder *bundle.Folder, c component.Component, want v1.Image) {
	t.Helper()
	item := folder.Bill().Item(c.Name)
	if item == nil || item.SHA256 != digestOf(t, want).Hex || item.Ref != c.Ref || item.Kind != bundle.Image {
		t.Fatalf("recorded %+v, want manifest %s", item, digestOf(t, want))
	}
	findings, err := folder.Verify(t.Context(), event.Discard{}, c.Name)
	if err != nil || len(findings) > 0 {
		t.Errorf("verifying: %v %v", findings, err)
	}
}

// proves: S-87
func TestImageOfIndexThroughMirror(t *testing.T) {
	t.Parallel()
	h, c := newHub(t), imageComponent()
	want := randomImage(t, "amd64")
	index := h.pushIndex(t, map[string]v1.Image{"arm64": randomImage(t, "arm64"), "amd64": want})
	folder, events := newFolder(t), &event.Recorder{}
	o := h.options(pinnedImage(c, index))
	o.Sink = events
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, o); err != nil {
		t.Fatal(err)
	}
	checkImage(t, folder, c, want)
	if got := folder.Bill().Item("app").Source; got != c.Ref+"@"+index.String() {
		t.Errorf("source %s", got)
	}
	counted := false
	for _, e := range events.Events() {
		counted = counted || (e.Total >= 150_000 && e.Done == e.Total)
	}
	if !counted {
		t.Errorf("events do not count to the end: %+v", events.Events())
	}
	h.fetched()
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, o); err != nil {
		t.Fatal(err)
	}
	if got := h.fetched(); len(got) > 0 {
		t.Errorf("the second pull asked for %v", got)
	}
}

func TestImagePinnedByManifest(t *testing.T) {
	t.Parallel()
	h, c := newHub(t), imageComponent()
	want, other := randomImage(t, "amd64"), randomImage(t, "arm64")
	h.pushIndex(t, map[string]v1.Image{"amd64": want, "arm64": other})
	folder := newFolder(t)
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, h.options(pinnedImage(c, digestOf(t, want)))); err != nil {
		t.Fatal(err)
	}
	checkImage(t, folder, c, want)
	err := upstream.Pull(t.Context(), newFolder(t), []component.Component{c}, h.options(pinnedImage(c, digestOf(t, other))))
	wantFault(t, err, fault.ExitFailure, "linux/arm64, not linux/amd64")
}

func TestIndexWithoutThePlatform(t *testing.T) {
	t.Parallel()
	h, c := newHub(t), imageComponent()
	index := h.pushIndex(t, map[string]v1.Image{"arm64": randomImage(t, "arm64")})
	err := upstream.Pull(t.Context(), newFolder(t), []component.Component{c}, h.options(pinnedImage(c, index)))
	wantFault(t, err, fault.ExitFailure, "app from", "linux/amd64")
}

// proves: S-24
func TestChangedImageIsRefused(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"manifests", "blobs"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			h, c := newHub(t), imageComponent()
			index := h.pushIndex(t, map[string]v1.Image{"amd64": randomImage(t, "amd64")})
			h.before = func(path string, w http.ResponseWriter, next http.Handler, r *http.Request) bool {
				if !strings.Contains(path, "/"+part+"/") {
					return false
				}
				answer := httptest.NewRecorder()
				next.ServeHTTP(answer, r)
				body := answer.Body.Bytes()
				body[len(body)/2] ^= 1
				for key := range answer.Header() {
					w.Header().Set(key, answer.Header().Get(key))
				}
				_, _ = w.Write(body)
				return true
			}
			folder := newFolder(t)
			err := upstream.Pull(t.Context(), folder, []component.Component{c}, h.options(pinnedImage(c, index)))
			wantFault(t, err, fault.ExitFailure, "app from "+h.host()+"/cache/team/app@"+index.String(), "mirror or proxy")
			if folder.Bill().Item("app") != nil {
				t.Error("the bill has the refused image")
			}
		})
	}
}

func TestMissingImage(t *testing.T) {
	t.Parallel()
	h, c := newHub(t), imageComponent()
	gone := v1.Hash{Algorithm: "sha256", Hex: sum([]byte("gone"))}
	err := upstream.Pull(t.Context(), newFolder(t), []component.Component{c}, h.options(pinnedImage(c, gone)))
	wantFault(t, err, fault.ExitFailure, "app from", "404 Not Found")
}

func TestImageGoesOnAfterCutLayer(t *testing.T) {
	t.Parallel()
	h, c := newHub(t), imageComponent()
	want := randomImage(t, "amd64")
	index := h.pushIndex(t, map[string]v1.Image{"amd64": want})
	manifest, err := want.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	last := manifest.Layers[2].Digest.String()
	cuts := 0
	h.before = func(path string, w http.ResponseWriter, next http.Handler, r *http.Request) bool {
		if !strings.HasSuffix(path, last) || cuts > 0 {
			return false
		}
		cuts++
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		w.Header().Set("Content-Length", fmt.Sprint(answer.Body.Len()))
		_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	folder := newFolder(t)
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, h.options(pinnedImage(c, index))); err != nil {
		t.Fatal(err)
	}
	checkImage(t, folder, c, want)
	times := map[string]int{}
	for _, path := range h.fetched() {
		times[path]++
	}
	for i, layer := range manifest.Layers {
		want := 1
		if i == 2 {
			want = 2
		}
		if got := times["/v2/cache/team/app/blobs/"+layer.Digest.String()]; got != want {
			t.Errorf("layer %d was fetched %d times, want %d", i, got, want)
		}
	}
}

func TestRegistryRetryAfter(t *testing.T) {
	t.Parallel()
	h, c := newHub(t), imageComponent()
	index := h.pushIndex(t, map[string]v1.Image{"amd64": randomImage(t, "amd64")})
	var refused time.Time
	h.before = func(path string, w http.ResponseWriter, _ http.Handler, _ *http.Request) bool {
		if !strings.Contains(path, "/manifests/") || !refused.IsZero() {
			return false
		}
		refused = time.Now()
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	}
	if err := upstream.Pull(t.Context(), newFolder(t), []component.Component{c}, h.options(pinnedImage(c, index))); err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(refused); waited < time.Second {
		t.Errorf("went on after %s, the registry wanted a second", waited)
	}
}

func TestDamagedLayerIsFetchedAnew(t *testing.T) {
	t.Parallel()
	h, c := newHub(t), imageComponent()
	want := randomImage(t, "amd64")
	o := h.options(pinnedImage(c, h.pushIndex(t, map[string]v1.Image{"amd64": want})))
	folder := newFolder(t)
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, o); err != nil {
		t.Fatal(err)
	}
	manifest, err := want.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	layer := manifest.Layers[1]
	if err := os.WriteFile(folder.Blob(layer.Digest.Hex), bytes.Repeat([]byte{0}, int(layer.Size)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := upstream.Pull(t.Context(), folder, []component.Component{c}, o); err != nil {
		t.Fatal(err)
	}
	checkImage(t, folder, c, want)
}

func TestRegistryOverPlainHTTPIsRefused(t *testing.T) {
	t.Parallel()
	c := imageComponent()
	o := upstream.Options{Pins: component.NewPins(), Backoff: time.Millisecond, Transport: refusing{},
		Mirrors: map[string]string{"registry.test": "10.255.255.1:5000"}} // private addresses tempt clients to use HTTP
	o.Pins.Set(pinnedImage(c, v1.Hash{Algorithm: "sha256", Hex: sum(nil)}))
	wantFault(t, upstream.Pull(t.Context(), newFolder(t), []component.Component{c}, o), fault.ExitFailure, "app from 10.255.255.1:5000")
}

// refusing is a network on which HTTPS fails, and plain HTTP would go through.
type refusing struct{}

func (refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "http" {
		panic("a request went out in plain HTTP: " + r.URL.String())
	}
	return nil, io.ErrUnexpectedEOF
}
