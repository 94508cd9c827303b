// Package certificate signs requests for certificates of a cluster by Magnum's
// rules: which extensions and usages a request may ask for, and
// how long a certificate is good.
package certificate

import (
	"crypto"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // RFC 5280 4.2.1.2 identifies keys by SHA-1; nothing is protected by it
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

const (
	// pemType and pemTypeOld are the types of a request; OpenSSL before 0.9.7
	// wrote the latter.
	pemType, pemTypeOld = "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"
	// backdate is how far before now a certificate begins: clocks differ.
	backdate = 24 * time.Hour
	// serialBits is the size of serial numbers, RFC 5280 4.1.2.2 allows 20 bytes.
	serialBits = 126
)

// Term is how long certificates are good: Magnum's term_of_validity.
const Term = 1825 * 24 * time.Hour

// Authority signs.
type Authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// NewAuthority reads a certificate authority from PEM. Of several certificates
// the first signs.
func NewAuthority(certificatePEM, keyPEM []byte) (*Authority, error) {
	pair, err := tls.X509KeyPair(certificatePEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority: %w", err)
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || !pair.Leaf.IsCA {
		return nil, errors.New("reading the certificate authority: it cannot sign")
	}
	return &Authority{pair.Leaf, key}, nil
}

// extension ids, RFC 5280.
func oid(last int) asn1.ObjectIdentifier { return asn1.ObjectIdentifier{2, 5, 29, last} }

// Sign answers a request in PEM with a certificate in PEM that is good for
// term, but never longer than the authority. Errors are the request's fault.
func (a *Authority) Sign(request []byte, term time.Duration, now time.Time) ([]byte, error) {
	csr, err := parse(request)
	if err != nil {
		return nil, err
	}
	extensions, err := allowed(csr.Extensions)
	if err != nil {
		return nil, err
	}
	identifier, err := keyIdentifier(csr.PublicKey)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return nil, fmt.Errorf("making a serial number: %w", err)
	}
	end := now.Add(term)
	if end.After(a.certificate.NotAfter) {
		end = a.certificate.NotAfter
	}
	template := &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)), RawSubject: csr.RawSubject, NotBefore: now.Add(-backdate), NotAfter: end,
		ExtraExtensions: extensions, SubjectKeyId: identifier,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, csr.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

func parse(request []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(request)
	if block == nil || block.Type != pemType && block.Type != pemTypeOld {
		return nil, errors.New("the CSR is not a PEM certificate request")
	}
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the CSR cannot be read: %w", err)
	}
	if err := csr.CheckSignature(); err != nil {
		return nil, fmt.Errorf("the CSR is not signed by its own key: %w", err)
	}
	return csr, nil
}

func keyIdentifier(public any) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("the CSR's key cannot be used: %w", err)
	}
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	if _, err := asn1.Unmarshal(der, &info); err != nil {
		return nil, fmt.Errorf("the CSR's key cannot be used: %w", err)
	}
	sum := sha1.Sum(info.Key.Bytes) //nolint:gosec // as above
	return sum[:], nil
}
