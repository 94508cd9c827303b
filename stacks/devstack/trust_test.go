package devstack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/devstack/devstacktest"
)

// TestAuthoritiesCanBeTrustedBy reads the file of tls-proxy; each way in which it can be no use
// has one error that names the file.
func TestAuthoritiesCanBeTrustedBy(t *testing.T) {
	t.Parallel()
	now := time.Now()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := devstacktest.NewCertificates(t, t.TempDir(), "192.0.2.7", now)
	text, err := os.ReadFile(good.Bundle)
	if err != nil {
		t.Fatal(err)
	}
	old := devstacktest.NewCertificates(t, t.TempDir(), "192.0.2.7", now.Add(-48*time.Hour))
	expired, err := os.ReadFile(old.Bundle)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ path, want string }{
		"none":              {"", ""},
		"good":              {good.Bundle, ""},
		"one of two":        {file("both", string(expired)+string(text)), ""},
		"missing":           {filepath.Join(dir, "nothing"), "there is no such file"},
		"unreadable":        {dir, "is a directory"},
		"empty":             {file("empty", ""), "it has no certificate"},
		"something else":    {file("else", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), "it has no certificate"},
		"broken":            {file("broken", string(text)+"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "certificate 3 cannot be read"},
		"expired":           {old.Bundle, "the certificate of CN=Root CA,O=OpenStack expired at " + now.Add(-24*time.Hour).UTC().Format("2006-01-02")},
		"the clock is slow": {devstacktest.NewCertificates(t, t.TempDir(), "192.0.2.7", now.Add(48*time.Hour)).Bundle, "is valid from " + now.Add(47*time.Hour).UTC().Format("2006-01-02")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Settings{CA: test.path}.Authorities(now)
			if test.want == "" {
				if err != nil || (got == "") != (test.path == "") {
					t.Errorf("%v, %d bytes", err, len(got))
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), "SSL_BUNDLE_FILE "+test.path+": ") || !strings.Contains(err.Error(), test.want) || len(fault.All(err)) != 1 ||
				fault.Remedy(err) == "" || fault.ExitCode(err) != fault.ExitUsage || got != "" {
				t.Errorf("%v; remedy %q", err, fault.Remedy(err))
			}
		})
	}
}

// TestClientsTrustTheCertificateOfTheAPI: it is one of devstack's, for the address in the catalog.
func TestClientsTrustTheCertificateOfTheAPI(t *testing.T) {
	t.Parallel()
	now := time.Now()
	own, other := devstacktest.NewCertificates(t, t.TempDir(), "192.0.2.7", now), devstacktest.NewCertificates(t, t.TempDir(), "192.0.2.7", now)
	named, six := devstacktest.NewCertificates(t, t.TempDir(), "devstack.example.org", now), devstacktest.NewCertificates(t, t.TempDir(), "2001:db8::7", now)
	text, err := os.ReadFile(own.Bundle)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "root.pem") // the authority between is in the file of the certificate
	if err := os.WriteFile(root, []byte(strings.SplitAfter(string(text), "-----END CERTIFICATE-----\n")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		settings Settings
		want     string
	}{
		"none":               {Settings{}, ""},
		"address":            {Settings{CA: own.Bundle, Certificate: own.Certificate, ServiceHost: "192.0.2.7"}, ""},
		"name":               {Settings{CA: named.Bundle, Certificate: named.Certificate, ServiceHost: "devstack.example.org"}, ""},
		"the root only":      {Settings{CA: root, Certificate: own.Certificate, ServiceHost: "192.0.2.7"}, ""},
		"IPv6":               {Settings{CA: six.Bundle, Certificate: six.Certificate, ServiceHost: "2001:db8::7"}, ""},
		"IPv6 in brackets":   {Settings{CA: six.Bundle, Certificate: six.Certificate, ServiceHost: "[2001:db8::7]"}, ""},
		"another host":       {Settings{CA: own.Bundle, Certificate: own.Certificate, ServiceHost: "192.0.2.8"}, "192.0.2.8"},
		"another name":       {Settings{CA: named.Bundle, Certificate: named.Certificate, ServiceHost: "2001:db8::1"}, "2001:db8::1"},
		"another authority":  {Settings{CA: other.Bundle, Certificate: own.Certificate, ServiceHost: "192.0.2.7"}, "unknown authority"},
		"no file":            {Settings{CA: own.Bundle, Certificate: "/nonexistent.pem", ServiceHost: "192.0.2.7"}, "no such file"},
		"a file without key": {Settings{CA: own.Bundle, Certificate: own.Bundle, ServiceHost: "192.0.2.7"}, "PRIVATE KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			authorities, err := test.settings.Authorities(now)
			if err != nil {
				t.Fatal(err)
			}
			err = test.settings.CheckCertificate(authorities, now)
			if test.want == "" && err == nil {
				return
			}
			if err == nil || test.want == "" || !strings.HasPrefix(err.Error(), "DEVSTACK_CERT "+test.settings.Certificate+": ") || !strings.Contains(err.Error(), test.want) || fault.Remedy(err) == "" {
				t.Errorf("%v; remedy %q", err, fault.Remedy(err))
			}
		})
	}
}
