package devstack

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
)

// bundleFile and certificateFile are what devstack calls the files of tls-proxy.
const (
	bundleFile      = "SSL_BUNDLE_FILE"
	certificateFile = "DEVSTACK_CERT"
)

// anew makes devstack write both files again.
const anew = "run clean.sh and stack.sh, and devstack makes new certificates"

// Authorities are the certificates of CA in PEM, empty without devstack's tls-proxy. A file
// that nothing could be trusted by is refused: the services, Cluster API and nodes of
// clusters would each fail by themselves, and much later.
func (s Settings) Authorities(now time.Time) (string, error) {
	if s.CA == "" {
		return "", nil
	}
	refuse := func(cause error, remedy string) (string, error) {
		return "", fault.Usage(bundleFile+" "+s.CA, cause, remedy)
	}
	text, err := os.ReadFile(s.CA)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return refuse(errors.New("there is no such file"), "stack.sh writes it with the service tls-proxy: read its log for the step that makes the certificates")
	case err != nil:
		return refuse(err, "let the user of devstack read it")
	}
	all, err := certificates(text)
	if err != nil {
		return refuse(err, anew)
	}
	if len(all) == 0 {
		return refuse(errors.New("it has no certificate"), "write the certificates of the authorities into it, in PEM")
	}
	for _, one := range all {
		if !now.Before(one.NotBefore) && now.Before(one.NotAfter) {
			return string(text), nil
		}
	}
	if last := all[0]; now.Before(last.NotBefore) {
		return refuse(fmt.Errorf("the certificate of %s is valid from %s on", last.Subject, last.NotBefore.UTC().Format(time.RFC3339)), "correct the clock of the host, or "+anew)
	}
	return refuse(fmt.Errorf("the certificate of %s expired at %s", all[0].Subject, all[0].NotAfter.UTC().Format(time.RFC3339)), anew)
}

// certificates are those in a text, which may have other blocks.
func certificates(text []byte) (all []*x509.Certificate, err error) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all, nil
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d cannot be read: %w", len(all)+1, err)
		}
		all = append(all, one)
	}
}

// Pool are the only authorities that a client of the cloud trusts, nil for the system's.
func Pool(authorities string) *x509.CertPool {
	if authorities == "" {
		return nil
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(authorities))
	return pool
}

// CheckCertificate refuses a certificate of the API that its clients would not trust.
func (s Settings) CheckCertificate(authorities string, now time.Time) error {
	if s.Certificate == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(s.Certificate, s.Certificate)
	if err != nil {
		return fault.Usage(certificateFile+" "+s.Certificate, err, "name a file with a key, its certificate, and those between it and the authority")
	}
	between := x509.NewCertPool()
	for _, der := range pair.Certificate[1:] {
		if one, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(one)
		}
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: s.ServiceHost, Intermediates: between, Roots: Pool(authorities), CurrentTime: now}); err != nil {
		return fault.Usage(certificateFile+" "+s.Certificate, fmt.Errorf("clients of the API would refuse it: %w", err), anew)
	}
	return nil
}
