package certs

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/certs"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/ui"
)

func trusts() certs.TrustListing {
	return certs.TrustListing{Clusters: []certs.Trust{
		{Cluster: "prod", Namespace: "default", Secret: "default/prod-login", Others: []string{"CN=old", "CN=older"}},
		{Cluster: "shop", Namespace: "shop", Secret: "shop/login", Missing: []string{"CN=new"}, Problem: "the cloud refused it"},
	}, Unseen: []certs.Unseen{{What: "seed", Why: "no answer"}}}
}

func TestTrustTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := ui.Output(&out, "table", nil, trustTable(trusts())); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"default/prod default/prod-login CN=old and 1 more trusts the cloud", "shop/shop shop/login - lacks CN=new; the cloud refused it", "not looked at: seed: no answer"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("printed\n%s\nwant %s", out.String(), want)
		}
	}
}

// TestTrustVerdict fails for a straggler, which it names, and for what nobody has seen.
func TestTrustVerdict(t *testing.T) {
	t.Parallel()
	l := trusts()
	if err := trustVerdict(l); fault.ExitCode(err) != fault.ExitFailure || !strings.Contains(err.Error(), "1 of 2 are not ready for these CA certificates, the first: shop/shop lacks CN=new") {
		t.Errorf("a straggler: %v", err)
	}
	l.Clusters = l.Clusters[:1]
	if err := trustVerdict(l); fault.ExitCode(err) != fault.ExitFailure || !strings.Contains(err.Error(), "seed: no answer") {
		t.Errorf("unseen: %v", err)
	}
	l.Unseen = nil
	if err := trustVerdict(l); err != nil {
		t.Errorf("all is well: %v", err)
	}
}

// TestWantedCertificates are those of the file, else of the environment.
func TestWantedCertificates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := &seed{T: t, ends: time.Now().Add(time.Hour)}
	good, bad := filepath.Join(dir, "good.pem"), filepath.Join(dir, "bad.pem")
	for file, text := range map[string]string{good: s.certificate() + s.certificate(), bad: "nothing"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		ca, bundle string
		want       int
		err        string
	}{
		"the environment's": {"", s.certificate(), 1, ""},
		"a file's":          {good, s.certificate(), 2, ""},
		"none":              {"", "", 0, "the environment has no spec.caBundle"},
		"no file":           {filepath.Join(dir, "none"), "", 0, "no such file"},
		"no certificate":    {bad, s.certificate(), 0, "not contain any valid"},
	} {
		list, err := cloudOptions{ca: test.ca}.wanted([]byte(test.bundle))
		if len(list) != test.want || (err == nil) != (test.err == "") {
			t.Errorf("%s: %d, %v", name, len(list), err)
		}
		if err != nil && (fault.ExitCode(err) != fault.ExitUsage || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPlacesThatAreNotThere: an environment without a seed's Kubernetes has nothing there; one that cannot be
// reached is told.
func TestPlacesThatAreNotThere(t *testing.T) {
	t.Parallel()
	l := listTrust(context.Background(), []*x509.Certificate{}, map[string]func() (*kube.Cluster, error){
		"seed":               func() (*kube.Cluster, error) { return nil, nil },
		"management cluster": func() (*kube.Cluster, error) { return nil, errors.New("it is away") },
	})
	if len(l.Clusters) != 0 || len(l.Unseen) != 1 || l.Unseen[0] != (certs.Unseen{What: "management cluster", Why: "it is away"}) {
		t.Errorf("found %+v", l)
	}
}
