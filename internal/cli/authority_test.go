package cli

import (
	"bytes"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// behindTLS serves a cloud, with its catalog, by HTTPS only, and returns the
// certificate of the authority. The commands find its clouds.yaml.
func behindTLS(t *testing.T, cloud *sandboxtest.Cloud) (authority []byte) {
	t.Helper()
	to, err := url.Parse(cloud.URL())
	check(t, err)
	var server *httptest.Server
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: &http.Transport{DisableCompression: true},
		ModifyResponse: func(r *http.Response) error {
			text, err := io.ReadAll(r.Body)
			text = bytes.ReplaceAll(text, []byte(cloud.URL()), []byte(server.URL))
			r.Body = io.NopCloser(bytes.NewReader(text))
			r.Header.Set("Content-Length", strconv.Itoa(len(text)))
			r.ContentLength = int64(len(text))
			return err
		},
	}
	server = httptest.NewTLSServer(proxy)
	t.Cleanup(server.Close)
	text, err := os.ReadFile(cloud.CloudsYAML())
	check(t, err)
	addCloud(t, cloudName(t), bytes.ReplaceAll(text, []byte(cloud.URL()), []byte(server.URL)))
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// TestACloudOfAPrivateAuthority is used only by those who know the authority: all
// calls of a whole life are verified, and without spec.caBundle there are none.
//
// proves: F23
func TestACloudOfAPrivateAuthority(t *testing.T) {
	t.Parallel()
	cloud, file := project(t)
	authority := behindTLS(t, cloud)
	code, _, said := run(t.Context(), "plan", "-f", file, "--skip-check", "bundle")
	if code == fault.ExitOK || !strings.Contains(said, "certificate") {
		t.Errorf("of an authority that nobody knows: exit code %d\n%s", code, said)
	}
	check(t, os.WriteFile(filepath.Join(filepath.Dir(file), "corp.pem"), authority, 0o644))
	text, err := os.ReadFile(file)
	check(t, err)
	check(t, os.WriteFile(file, append(text, "  caBundle: corp.pem\n"...), 0o644))
	upToTheSeed(t, file)
	if status := data[statusData](t, "status", "-f", file, "-o", "json"); len(status.Resources) != 10 {
		t.Errorf("status: %+v", status)
	}
	if down := data[downData](t, "down", "--yes", "-f", file, "-o", "json"); len(down.Left) > 0 || len(down.Deleted) != 10 {
		t.Errorf("down: %+v", down)
	}
}
