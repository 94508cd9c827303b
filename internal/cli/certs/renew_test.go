package certs

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// seed is a machine whose k3s makes new certificates when it starts, if they are due then.
type seed struct {
	*testing.T
	ends     time.Time
	restarts int
	// broken is why k3s does not start.
	broken error
}

func (s *seed) Run(_ context.Context, program string, args ...string) (string, error) {
	if program != "systemctl" {
		return "## /var/lib/rancher/k3s/server/tls/client-admin.crt\n" + s.certificate(), nil
	}
	if line := strings.Join(args, " "); line != "restart k3s.service" {
		s.Errorf("systemctl %s", line)
	}
	s.restarts++
	if s.broken == nil && time.Until(s.ends) < 120*24*time.Hour {
		s.ends = time.Now().AddDate(1, 0, 0)
	}
	return "", s.broken
}

// certificate is one that ends as the seed's do, in PEM.
func (s *seed) certificate() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: s.ends}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		s.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// TestRenewingTheSeed restarts k3s once, after the question, and only if something is due.
func TestRenewingTheSeed(t *testing.T) {
	t.Parallel()
	const yes, no = true, false
	for name, c := range map[string]struct {
		days     int
		yes      bool
		broken   error
		restarts int
		told     string
	}{
		"due":              {100, yes, nil, 1, ""},
		"ended":            {-1, yes, nil, 1, ""},
		"not due":          {200, yes, nil, 0, "nothing is due: k3s renews certificates only in their last 120 days"},
		"not confirmed":    {100, no, nil, 0, "not confirmed"},
		"k3s stays broken": {100, yes, errors.New("exit status 1"), 1, "k3s on the seed: exit status 1"},
	} {
		s := &seed{T: t, ends: time.Now().AddDate(0, 0, c.days), broken: c.broken}
		o := renewOptions{yes: c.yes, progress: "plain"}
		var out bytes.Buffer
		err := o.seed(t.Context(), ui.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, s)
		if (err == nil) != (c.told == "") || err != nil && (!strings.Contains(err.Error(), c.told) || fault.Remedy(err) == "") {
			t.Errorf("%s: %v", name, err)
		}
		if renewed := time.Until(s.ends) > 300*24*time.Hour; s.restarts != c.restarts || renewed != (c.told == "") {
			t.Errorf("%s: %d restarts, ends %s", name, s.restarts, s.ends)
		}
		if c.told == "" && !strings.Contains(out.String(), "run slipway up to read the new kubeconfig") {
			t.Errorf("%s: printed %s", name, out.String())
		}
	}
}
