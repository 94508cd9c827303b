package devstack_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/devstack/devstacktest"
)

// TestTrustLooksAtKeystone: an authority that did not sign its certificate is told before any
// service, controller or node would fail by it.
func TestTrustLooksAtKeystone(t *testing.T) {
	own, other := devstacktest.NewCertificates(t, t.TempDir(), "127.0.0.1", time.Now()), devstacktest.NewCertificates(t, t.TempDir(), "127.0.0.1", time.Now())
	pair, err := tls.LoadX509KeyPair(own.Certificate, own.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	keystone := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusMultipleChoices)
	}))
	keystone.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	keystone.StartTLS()
	defer keystone.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for name, test := range map[string]struct {
		files devstacktest.Certificates
		url   string
		args  []string
		want  []string
	}{
		"trusted":           {own, keystone.URL + "/identity", []string{"--keystone"}, nil},
		"before it runs":    {own, gone.URL, nil, nil},
		"no TLS":            {own, gone.URL, []string{"--keystone"}, nil}, // a URL of http
		"another authority": {other, keystone.URL + "/identity", []string{"--keystone"}, []string{"Keystone at " + keystone.URL + "/identity: the authorities in SSL_BUNDLE_FILE " + other.Bundle, "unknown authority"}},
		"another name":      {own, strings.Replace(keystone.URL, "127.0.0.1", "localhost", 1), []string{"--keystone"}, []string{"do not vouch", "localhost"}},
		"stopped":           {own, strings.Replace(gone.URL, "http:", "https:", 1), []string{"--keystone"}, []string{"connection refused"}},
		"no TLS at https":   {own, strings.Replace(plain.URL, "http:", "https:", 1), []string{"--keystone"}, []string{"HTTP response to HTTPS client"}},
	} {
		settings(t, map[string]string{"SERVICE_PROTOCOL": "https", "SERVICE_HOST": "127.0.0.1", "SLIPWAY_CA": test.files.Bundle, "SLIPWAY_CERTIFICATE": test.files.Certificate, "KEYSTONE_SERVICE_URI": test.url})
		_, err := run(t, append([]string{"trust"}, test.args...)...)
		if len(test.want) == 0 && err != nil || len(test.want) > 0 && (err == nil || fault.Remedy(err) == "") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; wanted %q", name, err, want)
			}
		}
	}
	if asked != 1 {
		t.Errorf("Keystone was asked %d times by those that trust it", asked)
	}
	settings(t, map[string]string{"SERVICE_PROTOCOL": "http", "SLIPWAY_CA": "", "SLIPWAY_CERTIFICATE": "", "KEYSTONE_SERVICE_URI": gone.URL})
	if _, err := run(t, "trust", "--keystone"); err != nil {
		t.Errorf("without tls-proxy: %v", err)
	}
}
