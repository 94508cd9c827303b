package certs

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// issued is a certificate in PEM with its key.
func issued(t *testing.T, from, to time.Time, authority bool) ([]byte, crypto.Signer) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: from, NotAfter: to, IsCA: authority, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key
}

func kubeconfigOf(certificate []byte) string {
	return "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n" +
		"clusters: [{name: c, cluster: {server: https://192.0.2.1:6443}}]\nusers: [{name: u, user: {client-certificate-data: " + base64.StdEncoding.EncodeToString(certificate) + "}}]\n"
}

// TestFilesOfK3s tells authorities from what k3s renews, and misses no file that it cannot
// read.
func TestFilesOfK3s(t *testing.T) {
	t.Parallel()
	year := begin.AddDate(1, 0, 0)
	serving, _ := issued(t, begin, year, false)
	ca, _ := issued(t, begin, begin.AddDate(10, 0, 0), true)
	const dir = "/var/lib/rancher/k3s/server/tls/"
	l := inFiles("## " + dir + "serving-kube-apiserver.crt\n" + string(serving) + string(ca) + "## " + dir + "server-ca.crt\n" + string(ca) + "## " + dir + "broken.crt\nno certificate\n")
	want := []Certificate{
		{Cluster: SeedName, Use: UseSeed, Object: "file " + dir + "serving-kube-apiserver.crt", Ends: year, RenewedBy: ByK3s, RenewsAt: year.AddDate(0, 0, -120)},
		{Cluster: SeedName, Use: UseAuthority, Object: "file " + dir + "server-ca.crt", Ends: begin.AddDate(10, 0, 0), RenewedBy: ByNobody},
	}
	if fmt.Sprint(l.Certificates) != fmt.Sprint(want) {
		t.Errorf("read as\n%v\nwant\n%v", l.Certificates, want)
	}
	if len(l.Unseen) != 1 || !strings.Contains(l.Unseen[0].What, "broken.crt") {
		t.Errorf("unseen: %v", l.Unseen)
	}
	for _, test := range []struct {
		now  time.Time
		want int
	}{{year.AddDate(0, 0, -121), 0}, {year.AddDate(0, 0, -120), 1}, {year.AddDate(0, 1, 0), 1}} {
		if due := DueOnSeed(l, test.now); len(due) != test.want {
			t.Errorf("at %s due: %v", test.now, due)
		}
	}
}

type said struct {
	out string
	err error
}

func (s said) Run(context.Context, string, ...string) (string, error) { return s.out, s.err }

func TestASeedWithoutCertificatesIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("find: no such folder")
	for name, seed := range map[string]said{"nothing": {}, "a failure": {err: broken}} {
		if l, err := Seed(t.Context(), seed); err == nil {
			t.Errorf("%s: %v", name, l)
		}
	}
}

// TestKubeconfigsAreReadAgain before they end, and not while nobody has a newer one.
func TestKubeconfigsAreReadAgain(t *testing.T) {
	t.Parallel()
	certificate, _ := issued(t, begin, begin.AddDate(0, 0, 360), false)
	text := kubeconfigOf(certificate)
	for _, test := range []struct {
		days          int
		seed, cluster bool
	}{{0, false, false}, {180, false, false}, {215, false, false}, {216, false, true}, {239, false, true}, {240, true, true}, {400, true, true}} {
		now := begin.AddDate(0, 0, test.days)
		if seed, cluster := SeedKubeconfigDue(text, now), ClusterKubeconfigDue(text, now); seed != test.seed || cluster != test.cluster {
			t.Errorf("after %d days: seed %t, cluster %t", test.days, seed, cluster)
		}
	}
	token := strings.Replace(text, "client-certificate-data", "token", 1)
	for _, none := range []string{"", "a: [", token} {
		if SeedKubeconfigDue(none, begin.AddDate(9, 0, 0)) {
			t.Errorf("%q is due", none)
		}
	}
	if l := InState("default", "prod", text); len(l.Certificates) != 1 || l.Certificates[0].RenewedBy != ByUp || !l.Certificates[0].RenewsAt.Equal(begin.AddDate(0, 0, 216)) {
		t.Errorf("in the state: %+v", l)
	}
	if l := InState("", SeedName, "secret: ["); len(l.Unseen) != 1 || strings.Contains(l.Unseen[0].Why, "secret") {
		t.Errorf("a broken one: %+v", l)
	}
}

// TestServedCertificates looks at one that has ended too, and does not wait for a server
// that says nothing.
func TestServedCertificates(t *testing.T) {
	t.Parallel()
	ended := begin.AddDate(-2, 0, 0)
	certificate, key := issued(t, ended.AddDate(-1, 0, 0), ended, false)
	block, _ := pem.Decode(certificate)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{block.Bytes}, PrivateKey: key}}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_ = c.(*tls.Conn).Handshake()
			c.Close()
		}
	}()
	ends, err := shown(t.Context(), &rest.Config{Host: "https://" + listener.Addr().String()})
	if err != nil || !ends.Equal(ended) {
		t.Errorf("ends %s, %v", ends, err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("the test is over"))
	defer cancel()
	if _, err := shown(ctx, &rest.Config{Host: "https://" + silent.Addr().String()}); err == nil || !strings.Contains(err.Error(), "the test is over") {
		t.Errorf("of a silent server: %v", err)
	}
}
