package openstack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	glance "github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// killer sends half of an upload as if that were all, and ends the run.
type killer struct {
	http.RoundTripper
	half int64
	kill func()
}

func (k *killer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, "/file") {
		return k.RoundTripper.RoundTrip(r)
	}
	cut := r.Clone(context.WithoutCancel(r.Context()))
	cut.Body, cut.ContentLength = io.NopCloser(io.LimitReader(r.Body, k.half)), -1
	response, err := k.RoundTripper.RoundTrip(cut)
	if err == nil {
		response.Body.Close()
	}
	k.kill()
	return nil, errors.Join(errors.New("killed"), err)
}

// TestHalfAnImageIsUploadedAgain where a run was killed and Glance took what came for the whole.
func TestHalfAnImageIsUploadedAgain(t *testing.T) {
	t.Parallel()
	owner := login(t, sandboxtest.Start(t))
	client, err := owner.Image()
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("sixteen letters."), 1<<12)
	sum, path := sha256.Sum256(content), filepath.Join(t.TempDir(), "seed.raw")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	kind, in := imageKind{owner}, ImageInputs{Ownership: Ownership{Environment: "prod", Step: "image"}, Path: path, SHA256: hex.EncodeToString(sum[:]), Format: "raw"}
	killed, kill := context.WithCancel(t.Context())
	whole := owner.Provider.HTTPClient.Transport
	owner.Provider.HTTPClient.Transport = &killer{whole, int64(len(content) / 2), kill}
	if id, err := kind.make(killed, in); err == nil {
		t.Fatalf("a killed run made %s", id)
	}
	owner.Provider.HTTPClient.Transport = whole
	pages, err := glance.List(client, glance.ListOpts{Name: in.mark().Name()}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	left, err := glance.ExtractImages(pages)
	if err != nil || len(left) != 1 || left[0].Status != glance.ImageStatusActive || left[0].SizeBytes != int64(len(content)/2) {
		t.Fatalf("the killed run left %+v (%v)", left, err)
	}
	if id, err := kind.find(t.Context(), in); err != nil || id != "" {
		t.Errorf("half of it is taken for the image: %q (%v)", id, err)
	}
	if _, err := glance.Get(t.Context(), client, left[0].ID).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		t.Errorf("half of it is still there: %v", err)
	}
	id, err := kind.make(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := kind.find(t.Context(), in); err != nil || found != id {
		t.Errorf("the whole image is %s, found %q (%v)", id, found, err)
	}
}
