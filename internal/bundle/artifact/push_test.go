package artifact_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/bundle/artifact"
	"github.com/slipway-sh/slipway/internal/bundle/bundletest"
)

// answers is a registry that is only a function.
type answers func(*http.Request) (*http.Response, error)

// RoundTrip is http.RoundTripper's.
func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	return a(r)
}

// TestABrokenUploadTellsNoToken: registries put one into the address that an upload goes to.
func TestABrokenUploadTellsNoToken(t *testing.T) {
	t.Parallel()
	folder := create(t, t.TempDir(), "linux/amd64")
	bundletest.PutFile(t, folder, "k3s", []byte("k3s"))
	ref, err := artifact.Reference("oci://registry.example.org/slipway/bundle:v1")
	if err != nil {
		t.Fatal(err)
	}
	registry := answers(func(r *http.Request) (*http.Response, error) {
		status, header := http.StatusNotFound, http.Header{}
		switch {
		case r.URL.Path == "/v2/":
			status = http.StatusOK
		case r.Method == http.MethodPost:
			status = http.StatusAccepted
			header.Set("Location", "https://store.example.org/upload?_state=secret")
		case r.Method == http.MethodPatch:
			return nil, errors.New("the line is cut")
		}
		return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: header, Body: http.NoBody, Request: r}, nil
	})
	_, err = artifact.Push(t.Context(), folder, ref, artifact.PushOptions{Transport: registry})
	if err == nil || !strings.Contains(err.Error(), "the line is cut") || strings.Contains(err.Error(), "secret") {
		t.Errorf("error: %v", err)
	}
}
