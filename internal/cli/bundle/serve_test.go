package bundle

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/bundletest"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// certificate makes a certificate of 127.0.0.1 and returns the files, and who
// trusts it.
func certificate(t *testing.T) (certFile, keyFile string, trust *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile, trust = filepath.Join(t.TempDir(), "tls.crt"), filepath.Join(t.TempDir(), "tls.key"), x509.NewCertPool()
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	trust.AddCert(parsed)
	return certFile, keyFile, trust
}

// bundleWith makes a bundle with an image.
func bundleWith(t *testing.T, name, repository string) string {
	t.Helper()
	folder, err := bundle.Create(t.TempDir(), "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	bundletest.PutImage(t, folder, name, repository)
	return folder.Dir()
}

// TestServeIsARegistryOfBundles runs the command as an operator does, with two
// bundles and a certificate, and ends it.
func TestServeIsARegistryOfBundles(t *testing.T) {
	t.Parallel()
	certFile, keyFile, trust := certificate(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	ended := make(chan error, 1)
	cmd := New(ui.Streams{Err: log, Out: io.Discard})
	cmd.SetArgs([]string{"serve", "--listen", "127.0.0.1:0", "--tls-cert", certFile, "--tls-key", keyFile,
		"--dir", bundleWith(t, "one", "quay.io/one"), "--dir", bundleWith(t, "two", "registry.k8s.io/two")})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	address := announced(t, log.Name())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}, DisableKeepAlives: true}}
	for _, path := range []string{"/v2/one/manifests/v1?ns=quay.io", "/v2/two/manifests/v1?ns=registry.k8s.io"} {
		resp, err := client.Get("https://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it does not end")
	}
	said, err := os.ReadFile(log.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"images":2`, `"registries":["quay.io","registry.k8s.io"]`, `"path":"/v2/two/manifests/v1","registry":"registry.k8s.io","status":200`} {
		if !strings.Contains(string(said), want) {
			t.Errorf("the log has no %s:\n%s", want, said)
		}
	}
}

// announced waits for the address that the command tells in its log.
func announced(t *testing.T, log string) string {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		var said struct{ Address string }
		if json.Unmarshal(text, &said) == nil && said.Address != "" {
			return said.Address
		}
	}
	t.Fatal("it does not serve")
	return ""
}

// TestServeTellsAllThatIsWrong refuses before it listens.
func TestServeTellsAllThatIsWrong(t *testing.T) {
	t.Parallel()
	good := bundleWith(t, "one", "quay.io/one")
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"no bundles":          {[]string{"--dir", "/none/a", "--dir", good, "--dir", "/none/b"}, []string{"/none/a: this folder contains no bundle", "/none/b: this folder contains no bundle"}},
		"half a certificate":  {[]string{"--dir", good, "--tls-cert", "tls.crt"}, []string{"--tls-cert and --tls-key: only one of the two is given"}},
		"no such certificate": {[]string{"--dir", good, "--listen", "127.0.0.1:0", "--tls-cert", "/none/tls.crt", "--tls-key", "/none/tls.key"}, []string{"--tls-cert and --tls-key", "/none/tls.crt"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := New(ui.Streams{Err: io.Discard, Out: io.Discard})
			cmd.SetArgs(append([]string{"serve"}, c.args...))
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			err := cmd.ExecuteContext(t.Context())
			if err == nil || fault.ExitCode(err) != fault.ExitUsage {
				t.Fatalf("error %v, exit code %d", err, fault.ExitCode(err))
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %v has no %q", err, want)
				}
			}
		})
	}
}
