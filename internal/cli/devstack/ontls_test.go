package devstack_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// tlsOffset is how far the port of a service with TLS is above that without.
const tlsOffset = 10000

// tlsProxy is what devstack's service of this name is: TLS before each service, with an
// authority that nobody knows. What Keystone and the others say of addresses names the proxy.
type tlsProxy struct {
	// authority and pair are PEM files: the certificate alone, and with its key.
	authority, pair []byte
	// file holds the authority.
	file string
}

// newTLSProxy serves every service that the devcloud has in its catalog.
func newTLSProxy(d *devstackHost) *tlsProxy {
	d.t.Helper()
	address := d.cloud.Address().String()
	p := selfSigned(d.t, address)
	pair, err := tls.X509KeyPair(p.authority, p.pair)
	d.must(err)
	ports := []int{5000, 9292, 8774, 8778, 9696, 8776, 9876, 9311}
	var names []string
	for _, port := range ports {
		names = append(names, fmt.Sprintf("http://%s:%d", address, port), fmt.Sprintf("https://%s:%d", address, port+tlsOffset))
	}
	rename := strings.NewReplacer(names...)
	for _, port := range ports {
		target, err := url.Parse(fmt.Sprintf("http://%s:%d", address, port))
		d.must(err)
		proxy := &httputil.ReverseProxy{ErrorLog: log.New(io.Discard, "", 0), ModifyResponse: func(r *http.Response) error { return renamed(r, rename) },
			Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
		server := &http.Server{Handler: proxy, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
		listener := d.listen(net.JoinHostPort(address, strconv.Itoa(port+tlsOffset)))
		go func() { _ = server.ServeTLS(listener, "", "") }() // until the test closes it
		d.t.Cleanup(func() { _ = server.Close() })
	}
	return p
}

// renamed replaces addresses in what a service answers, but for data.
func renamed(r *http.Response, rename *strings.Replacer) error {
	if at := r.Header.Get("Location"); at != "" {
		r.Header.Set("Location", rename.Replace(at))
	}
	if !strings.Contains(r.Header.Get("Content-Type"), "json") {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return err
	}
	body = []byte(rename.Replace(string(body)))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// selfSigned makes a certificate of an address, which is its own authority.
func selfSigned(t *testing.T, address string) *tlsProxy {
	t.Helper()
	key, noKey := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.ParseIP(address)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	made, noCertificate := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	private, noBytes := x509.MarshalPKCS8PrivateKey(key)
	p := &tlsProxy{authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made}), file: filepath.Join(t.TempDir(), "ca.pem")}
	p.pair = append(bytes.Clone(p.authority), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	if err := errors.Join(noKey, noCertificate, noBytes, os.WriteFile(p.file, p.authority, 0o600)); err != nil {
		t.Fatal(err)
	}
	return p
}

// secured has DevStack tell of the services behind the proxy.
func (p *tlsProxy) secured(d *devstackHost, on *site) {
	d.t.Helper()
	plain := on.keystone
	on.keystone = fmt.Sprintf("https://%s:%d/v3", on.host, 5000+tlsOffset)
	text, err := os.ReadFile(on.clouds)
	d.must(err)
	trusting := strings.ReplaceAll(string(text), "auth_url: "+plain, "auth_url: "+on.keystone)
	// Each entry has a region, and no other line of that indentation is one.
	trusting = strings.ReplaceAll(trusting, "    region_name:", "    cacert: "+p.file+"\n    region_name:")
	on.clouds = filepath.Join(d.t.TempDir(), "clouds.yaml")
	d.must(os.WriteFile(on.clouds, []byte(trusting), 0o600))
	on.admin, on.member = d.login(on.clouds, "devstack-admin"), d.login(on.clouds, "devstack")
	on.variables = append(on.variables, "ENABLED_SERVICES=key,n-api,tempest,tls-proxy", "SERVICE_PROTOCOL=https")
}

// given puts the files where DevStack has them: SSL_BUNDLE_FILE and DEVSTACK_CERT.
func (p *tlsProxy) given(d *devstackHost) {
	d.t.Helper()
	d.must(errors.Join(os.WriteFile(d.path("stack/data/ca-bundle.pem"), p.authority, 0o600), os.WriteFile(d.path("stack/data/devstack-cert.pem"), p.pair, 0o600)))
}
