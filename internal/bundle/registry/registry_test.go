package registry_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/bundletest"
	"github.com/slipway-sh/slipway/internal/bundle/registry"
)

func create(t *testing.T) *bundle.Folder {
	t.Helper()
	folder, err := bundle.Create(t.TempDir(), "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	return folder
}

// serve serves bundles and returns the address without its scheme.
func serve(t *testing.T, folders ...*bundle.Folder) string {
	t.Helper()
	handler, err := registry.New(folders...)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func ask(t *testing.T, method, url string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// TestImagesArePulled pulls whole images with a client of others, by the full
// name, and by the path alone as from a mirror.
func TestImagesArePulled(t *testing.T) {
	t.Parallel()
	folder := create(t)
	item, _ := bundletest.PutImage(t, folder, "csi", "registry.k8s.io/provider-os/csi")
	address := serve(t, folder)
	for _, reference := range []string{"/registry.k8s.io/provider-os/csi:v1", "/provider-os/csi:v1", "/provider-os/csi@sha256:" + item.SHA256} {
		ref, err := name.ParseReference(address+reference, name.Insecure)
		if err != nil {
			t.Fatal(err)
		}
		pulled, err := remote.Image(ref, remote.WithContext(t.Context()))
		if err != nil {
			t.Errorf("%s: %v", reference, err)
			continue
		}
		if digest, err := pulled.Digest(); err != nil || digest.Hex != item.SHA256 {
			t.Errorf("%s: digest %s (%v), want %s", reference, digest, err, item.SHA256)
		}
		if err := validate.Image(pulled); err != nil {
			t.Errorf("%s: %v", reference, err)
		}
	}
}

// TestAMirrorIsAskedByNamespace tells images of the same path apart by the
// registry that containerd names, and does not guess without it.
func TestAMirrorIsAskedByNamespace(t *testing.T) {
	t.Parallel()
	folder := create(t)
	want := map[string]string{}
	for _, host := range []string{"quay.io", "registry.example.com:5000"} {
		item, _ := bundletest.PutImage(t, folder, "of-"+host, host+"/tool")
		want[host] = "sha256:" + item.SHA256
	}
	url := "http://" + serve(t, folder) + "/v2/tool/manifests/v1"
	for host, digest := range want {
		resp, _ := ask(t, http.MethodHead, url+"?ns="+host)
		if got := resp.Header.Get("Docker-Content-Digest"); got != digest {
			t.Errorf("of %s: %d, digest %q, want %s", host, resp.StatusCode, got, digest)
		}
	}
	for _, query := range []string{"", "?ns=docker.io"} {
		if resp, body := ask(t, http.MethodGet, url+query); resp.StatusCode != http.StatusNotFound || !strings.Contains(body, "NAME_UNKNOWN") {
			t.Errorf("query %q: %d %s", query, resp.StatusCode, body)
		}
	}
}

// TestTheFirstBundleHasTheLastWord serves one tag of two bundles, and both
// images by their digests.
func TestTheFirstBundleHasTheLastWord(t *testing.T) {
	t.Parallel()
	newer, older := create(t), create(t)
	first, _ := bundletest.PutImage(t, newer, "tool", "quay.io/tool")
	second, _ := bundletest.PutImage(t, older, "tool", "quay.io/tool")
	url := "http://" + serve(t, newer, older) + "/v2/quay.io/tool/manifests/"
	for reference, digest := range map[string]string{"v1": first.SHA256, "sha256:" + first.SHA256: first.SHA256, "sha256:" + second.SHA256: second.SHA256} {
		resp, _ := ask(t, http.MethodGet, url+reference)
		if got := resp.Header.Get("Docker-Content-Digest"); got != "sha256:"+digest {
			t.Errorf("%s: %d, digest %q, want %s", reference, resp.StatusCode, got, digest)
		}
	}
}

// TestAnInterruptedLayerGoesOn asks for the rest of a layer, as containerd does.
func TestAnInterruptedLayerGoesOn(t *testing.T) {
	t.Parallel()
	folder := create(t)
	_, image := bundletest.PutImage(t, folder, "tool", "quay.io/tool")
	digest, content := layer(t, image)
	resp, rest := ask(t, http.MethodGet, "http://"+serve(t, folder)+"/v2/tool/blobs/"+digest+"?ns=quay.io", "Range", "bytes=100-")
	if resp.StatusCode != http.StatusPartialContent || rest != content[100:] {
		t.Errorf("%d with %d bytes, want %d", resp.StatusCode, len(rest), len(content)-100)
	}
}

// layer is the first layer of an image, as it is sent.
func layer(t *testing.T, image v1.Image) (digest, content string) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	hash, err := layers[0].Digest()
	if err != nil {
		t.Fatal(err)
	}
	r, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return hash.String(), string(text)
}

// TestNothingButImagesIsServed refuses changes, and blobs of the bundle that are
// no part of an image.
func TestNothingButImagesIsServed(t *testing.T) {
	t.Parallel()
	folder := create(t)
	_, image := bundletest.PutImage(t, folder, "tool", "quay.io/tool")
	machine, err := folder.Put(t.Context(), strings.NewReader("an image of a machine"))
	if err != nil {
		t.Fatal(err)
	}
	digest, _ := layer(t, image)
	url := "http://" + serve(t, folder)
	for _, c := range []struct {
		method, path string
		status       int
		code         string
	}{
		{http.MethodGet, "/v2/", http.StatusOK, "{}"},
		{http.MethodGet, "/", http.StatusNotFound, "NAME_UNKNOWN"},
		{http.MethodGet, "/v2/tool", http.StatusNotFound, "NAME_UNKNOWN"},
		{http.MethodGet, "/v2/other/manifests/v1", http.StatusNotFound, "NAME_UNKNOWN"},
		{http.MethodGet, "/v2/tool/manifests/v2", http.StatusNotFound, "MANIFEST_UNKNOWN"},
		{http.MethodGet, "/v2/tool/blobs/sha256:" + machine.SHA256, http.StatusNotFound, "BLOB_UNKNOWN"},
		{http.MethodGet, "/v2/tool/blobs/..%2F..%2Fbundle.yaml", http.StatusNotFound, "NAME_UNKNOWN"},
		{http.MethodGet, "/v2/tool/referrers/" + digest, http.StatusNotFound, "NAME_UNKNOWN"},
		{http.MethodPut, "/v2/tool/manifests/v1", http.StatusMethodNotAllowed, "UNSUPPORTED"},
		{http.MethodPost, "/v2/tool/blobs/uploads/", http.StatusMethodNotAllowed, "UNSUPPORTED"},
		{http.MethodDelete, "/v2/tool/blobs/" + digest, http.StatusMethodNotAllowed, "UNSUPPORTED"},
	} {
		if resp, body := ask(t, c.method, url+c.path); resp.StatusCode != c.status || !strings.Contains(body, c.code) {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, resp.StatusCode, body, c.status, c.code)
		}
	}
}

// TestListsComeInPages lists repositories and tags with a client that follows links.
func TestListsComeInPages(t *testing.T) {
	t.Parallel()
	folder := create(t)
	var want []string
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		bundletest.PutImage(t, folder, name, "quay.io/"+name)
		want = append(want, "quay.io/"+name)
	}
	want = append(want, registry.BundleRepository)
	address := serve(t, folder)
	host, err := name.NewRegistry(address, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := remote.Catalog(t.Context(), host, remote.WithPageSize(2)); err != nil || !slices.Equal(got, want) {
		t.Errorf("the catalogue is %v (%v), want %v", got, err, want)
	}
	if got, err := remote.List(host.Repo("quay.io", "c"), remote.WithContext(t.Context())); err != nil || !slices.Equal(got, []string{"v1"}) {
		t.Errorf("tags: %v, %v", got, err)
	}
	if resp, body := ask(t, http.MethodGet, "http://"+address+"/v2/_catalog?n=some"); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("n=some: %d %s", resp.StatusCode, body)
	}
}

// TestABundleThatIsNotWholeIsRefused names every image that machines could not
// pull.
func TestABundleThatIsNotWholeIsRefused(t *testing.T) {
	t.Parallel()
	folder := create(t)
	for _, name := range []string{"one", "two", "three"} {
		_, image := bundletest.PutImage(t, folder, name, "quay.io/"+name)
		if digest, _ := layer(t, image); name != "two" {
			if err := os.Remove(folder.Blob(strings.TrimPrefix(digest, "sha256:"))); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, err := registry.New(folder)
	if err == nil || !strings.Contains(err.Error(), "image one") || !strings.Contains(err.Error(), "image three") || strings.Contains(err.Error(), "image two") {
		t.Errorf("error: %v", err)
	}
}
