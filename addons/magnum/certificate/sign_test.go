package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
)

func ecKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func authority(t testing.TB, years int) (*Authority, *x509.CertPool) {
	t.Helper()
	key := ecKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "shop"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().AddDate(years, 0, 0), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	a, err := NewAuthority(certificate, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certificate)
	return a, pool
}

func request(t testing.TB, key crypto.Signer, extensions ...pkix.Extension) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}, ExtraExtensions: extensions}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

func extension(t testing.TB, last int, critical bool, value any) pkix.Extension {
	t.Helper()
	der, err := asn1.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return pkix.Extension{Id: oid(last), Critical: critical, Value: der}
}

func signed(t testing.TB, a *Authority, csr []byte) *x509.Certificate {
	t.Helper()
	text, err := a.Sign(csr, Term, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func TestSign(t *testing.T) {
	t.Parallel()
	a, roots := authority(t, 10)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]crypto.Signer{"EC": ecKey(t), "RSA": rsaKey} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := signed(t, a, request(t, key))
			if c.Subject.CommonName != "admin" || c.Subject.Organization[0] != "system:masters" || c.Issuer.CommonName != "shop" {
				t.Errorf("subject %s, issuer %s", c.Subject, c.Issuer)
			}
			if _, err := c.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
				t.Error(err)
			}
			if time.Until(c.NotBefore) > -23*time.Hour || time.Until(c.NotAfter) < Term-time.Hour || time.Until(c.NotAfter) > Term {
				t.Errorf("good from %s to %s", c.NotBefore, c.NotAfter)
			}
			if len(c.SubjectKeyId) == 0 || c.IsCA || c.SerialNumber.Sign() <= 0 {
				t.Errorf("%+v", c)
			}
		})
	}
}

func TestNoCertificateOutlivesItsAuthority(t *testing.T) {
	t.Parallel()
	a, _ := authority(t, 1)
	if c := signed(t, a, request(t, ecKey(t))); c.NotAfter.After(a.certificate.NotAfter) {
		t.Errorf("good until %s", c.NotAfter)
	}
}

func TestExtensions(t *testing.T) {
	t.Parallel()
	a, _ := authority(t, 10)
	type constraints struct{ IsCA bool }
	allUsages := asn1.BitString{Bytes: []byte{0xff, 0x80}, BitLength: 9}
	clientAuth := []asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 2}}
	odd := pkix.Extension{Id: asn1.ObjectIdentifier{1, 2, 3}, Value: []byte{5, 0}}
	c := signed(t, a, request(t, ecKey(t), extension(t, keyUsage, false, allUsages), extension(t, basicConstraints, false, constraints{true}),
		extension(t, extendedKeyUsage, false, clientAuth), extension(t, subjectKeyIdentifier, false, []byte("mine")), odd))
	if want := x509.KeyUsageDigitalSignature | x509.KeyUsageContentCommitment | x509.KeyUsageKeyEncipherment; c.KeyUsage != want {
		t.Errorf("key usage %b, want %b", c.KeyUsage, want)
	}
	if c.IsCA || len(c.ExtKeyUsage) != 1 || c.ExtKeyUsage[0] != x509.ExtKeyUsageClientAuth || string(c.SubjectKeyId) == "mine" {
		t.Errorf("CA %v, usages %v, key id %q", c.IsCA, c.ExtKeyUsage, c.SubjectKeyId)
	}
	for _, e := range c.Extensions {
		if e.Id.Equal(odd.Id) {
			t.Error("an unknown extension was taken over")
		}
	}
	odd.Critical = true
	for name, refused := range map[string]pkix.Extension{
		"critical authority": extension(t, basicConstraints, true, constraints{true}),
		"critical usages":    extension(t, keyUsage, true, allUsages),
		"critical unknown":   odd,
		"broken usage":       {Id: oid(keyUsage), Value: []byte{1}},
		"broken constraints": {Id: oid(basicConstraints), Value: []byte{1}},
	} {
		if _, err := a.Sign(request(t, ecKey(t), refused), Term, time.Now()); err == nil || !strings.Contains(err.Error(), "the CSR") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBrokenRequests(t *testing.T) {
	t.Parallel()
	a, _ := authority(t, 10)
	good := request(t, ecKey(t))
	block, _ := pem.Decode(good)
	block.Bytes[len(block.Bytes)-1] ^= 1
	forged := pem.EncodeToMemory(block)
	for name, csr := range map[string][]byte{"empty": nil, "no PEM": []byte("x"), "forged": forged,
		"a key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})} {
		if _, err := a.Sign(csr, Term, time.Now()); err == nil {
			t.Errorf("%s was signed", name)
		}
	}
}

// TestRequestsOfOldOpenSSL have another title.
func TestRequestsOfOldOpenSSL(t *testing.T) {
	t.Parallel()
	a, _ := authority(t, 10)
	block, _ := pem.Decode(request(t, ecKey(t)))
	block.Type = "NEW CERTIFICATE REQUEST"
	if c := signed(t, a, pem.EncodeToMemory(block)); c.Subject.CommonName != "admin" {
		t.Errorf("subject %s", c.Subject)
	}
	block.Type = "CERTIFICATE"
	if _, err := a.Sign(pem.EncodeToMemory(block), Term, time.Now()); err == nil {
		t.Error("a request under a wrong title was signed")
	}
}

// TestUsagesOfWhichNoneIsAllowed leave an empty list, and the bits that are allowed stay where they are.
func TestUsagesOfWhichNoneIsAllowed(t *testing.T) {
	t.Parallel()
	a, _ := authority(t, 10)
	for asked, want := range map[byte][]byte{0x04: {3, 1, 0}, 0x80: {3, 2, 7, 0x80}, 0x20: {3, 2, 5, 0x20}, 0x44: {3, 2, 6, 0x40}} {
		c := signed(t, a, request(t, ecKey(t), extension(t, keyUsage, false, asn1.BitString{Bytes: []byte{asked}, BitLength: 8})))
		for _, e := range c.Extensions {
			if e.Id.Equal(oid(keyUsage)) && string(e.Value) != string(want) {
				t.Errorf("of %x: %x, want %x", asked, e.Value, want)
			}
		}
	}
}

// TestWhoIsNoAuthority signs nothing: a certificate for something else, or one without its key.
func TestWhoIsNoAuthority(t *testing.T) {
	t.Parallel()
	key, other := ecKey(t), ecKey(t)
	made := func(authority bool) []byte {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0, 0), IsCA: authority, BasicConstraintsValid: true}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	written := func(key *ecdsa.PrivateKey) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	}
	for name, test := range map[string]struct {
		certificate, key []byte
		want             string
	}{"an authority": {made(true), written(key), ""}, "a server": {made(false), written(key), "it cannot sign"}, "another's key": {made(true), written(other), "does not match"}} {
		if _, err := NewAuthority(test.certificate, test.key); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzSign(f *testing.F) {
	a, roots := authority(f, 10)
	f.Add(request(f, ecKey(f)))
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n"))
	f.Fuzz(func(t *testing.T, csr []byte) {
		text, err := a.Sign(csr, Term, time.Now())
		if err != nil {
			return
		}
		block, _ := pem.Decode(text)
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if certificate.IsCA {
			t.Error("an authority was made")
		}
		if _, err := certificate.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil && len(certificate.UnhandledCriticalExtensions) == 0 {
			t.Error(err)
		}
	})
}
