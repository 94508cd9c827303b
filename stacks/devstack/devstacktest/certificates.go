// Package devstacktest makes for tests what devstack makes for plugins.
package devstacktest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Certificates are the files of devstack's tls-proxy: a root and an authority below it in
// Bundle, and in Certificate a key, its certificate, and the authority that signed it.
type Certificates struct{ Bundle, Certificate string }

// NewCertificates writes the files into a folder under the names that lib/tls gives them. The
// certificate is for one address or name; all are valid around a time.
func NewCertificates(t *testing.T, folder, host string, at time.Time) Certificates {
	t.Helper()
	root := sign(t, nil, "Root CA", "", at)
	between := sign(t, &root, "Intermediate CA", "", at)
	own := sign(t, &between, host, host, at)
	key, err := x509.MarshalPKCS8PrivateKey(own.key)
	if err != nil {
		t.Fatal(err)
	}
	made := Certificates{Bundle: filepath.Join(folder, "ca-bundle.pem"), Certificate: filepath.Join(folder, "devstack-cert.pem")}
	private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	err = errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(made.Bundle, []byte(root.pem()+between.pem()), 0o644),
		os.WriteFile(made.Certificate, []byte(private+"Certificate:\n    Data:\n"+own.pem()+between.pem()), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// signed is a certificate with its key.
type signed struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func (s signed) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.certificate.Raw}))
}

// sign makes a certificate: an authority, or that of a host.
func sign(t *testing.T, by *signed, name, host string, at time.Time) signed {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{Organization: []string{"OpenStack"}, CommonName: name}, NotBefore: at.Add(-time.Hour), NotAfter: at.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	if host != "" {
		template.IsCA, template.KeyUsage, template.ExtKeyUsage = false, x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		template.DNSNames = []string{"devstack.example"}
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = []net.IP{address}
		} else {
			template.DNSNames = []string{host}
		}
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.certificate, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return signed{certificate, key}
}
