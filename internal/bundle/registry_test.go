package bundle_test

import (
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/slipway-sh/slipway/internal/bundle/bundletest"
)

// TestImagesCanBeServedByARegistry moves an image from the folder into a
// registry and back, byte for byte.
func TestImagesCanBeServedByARegistry(t *testing.T) {
	t.Parallel()
	// proves: S-85
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	folder := create(t, t.TempDir())
	item, _ := bundletest.PutImage(t, folder, "image", "example.com/image")
	image, err := folder.Image(item)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://")+"/image:v1", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, image, remote.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Image(ref, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if digest, err := pulled.Digest(); err != nil || digest.Hex != item.SHA256 {
		t.Errorf("digest %s (%v), want %s", digest, err, item.SHA256)
	}
	if err := validate.Image(pulled); err != nil {
		t.Error(err)
	}
}
