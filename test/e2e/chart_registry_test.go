package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// registry is one that the test serves to machines. It remembers what it was
// asked for.
type registry struct {
	// address is where machines find it.
	address string

	content http.Handler
	mu      sync.Mutex
	asked   []string
	// password is that of the user "proof"; empty lets everybody in.
	password string
}

// serveRegistry starts an empty one at the host's address, with TLS if there is
// an authority, until the test ends.
func (p *project) serveRegistry(a *authority) *registry {
	p.t.Helper()
	r := &registry{content: ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0)))}
	r.address = p.serve(r, a)
	return r
}

// serve serves at the host's address in the external network, where machines
// find the cloud, too.
func (p *project) serve(handler http.Handler, a *authority) (address string) {
	p.t.Helper()
	host := p.authURL().Hostname()
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		p.t.Fatal(err)
	}
	address = listener.Addr().String()
	if a != nil {
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{a.issue(p.t, host)}})
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	go server.Serve(listener) //nolint:errcheck // it is closed
	p.t.Cleanup(func() { _ = server.Close() })
	return address
}

func (r *registry) host() string {
	host, _, _ := net.SplitHostPort(r.address)
	return host
}

// ServeHTTP is http.Handler's.
func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.asked = append(r.asked, req.URL.Path)
	password := r.password
	r.mu.Unlock()
	if user, given, _ := req.BasicAuth(); password != "" && (user != "proof" || given != password) {
		w.Header().Set("WWW-Authenticate", `Basic realm="proof"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	r.content.ServeHTTP(w, req)
}

// wasAsked reports whether somebody asked for an image.
func (r *registry) wasAsked(repository string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.asked, func(path string) bool { return strings.HasPrefix(path, "/v2/"+repository+"/manifests/") })
}

// change gives it another password.
func (r *registry) change(password string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.password = password
}

// push puts the bundle's pause image into it, under some names.
func (r *registry) push(t *testing.T, names ...string) {
	t.Helper()
	folder := openBundle(t)
	image, err := folder.Image(*folder.Bill().Item("pause"))
	if err != nil {
		t.Fatal(err)
	}
	// Not by the door where questions are counted.
	door := httptest.NewServer(r.content)
	defer door.Close()
	for _, one := range names {
		ref, err := name.ParseReference(strings.TrimPrefix(door.URL, "http://")+"/"+one, name.Insecure)
		if err == nil {
			err = remote.Write(ref, image)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// authority is one that signs certificates of servers; machines trust it only
// if they are told.
type authority struct {
	certificate string
	parsed      *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) (a authority) {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "proof"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err == nil {
		a.parsed, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	a.certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return a
}

// issue makes a certificate of an address.
func (a authority) issue(t *testing.T, address string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: address}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.ParseIP(address)}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.parsed, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
