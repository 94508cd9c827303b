package inside

import (
	"context"
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
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/cause"
)

// certificate is of loopback, by itself, until an end.
func certificate(t *testing.T, end time.Time) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "api"}, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: end, IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, own, own, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// server answers everything in the same way, with a certificate until an end.
func server(t *testing.T, end time.Time, answer http.HandlerFunc) *rest.Config {
	t.Helper()
	own, authority := certificate(t, end)
	s := httptest.NewUnstartedServer(answer)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{own}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{CAData: authority}}
}

func answer(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, text) //nolint:errcheck // the client may be gone
	}
}

// TestAnAPIThatDoesNotAnswerSaysWhy in each way that a network and a server have.
func TestAnAPIThatDoesNotAnswerSaysWhy(t *testing.T) {
	t.Parallel()
	soon, over := time.Now().Add(24*time.Hour), time.Now().Add(-24*time.Hour)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	foreign := server(t, soon, answer(200, "ok"))
	_, foreign.CAData = certificate(t, soon)
	wrongName := server(t, soon, answer(200, "ok"))
	wrongName.ServerName = "api.shop.example"
	old, _ := certificate(t, over)
	outdated := server(t, soon, answer(401, "Unauthorized"))
	der, err := x509.MarshalECPrivateKey(old.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	outdated.CertData, outdated.KeyData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: old.Certificate[0]}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	for name, test := range map[string]struct {
		config *rest.Config
		way    cause.Way
		words  string
	}{
		"nothing listens":              {&rest.Config{Host: "https://" + closed.Addr().String()}, cause.WayRefused, "connection refused"},
		"a name that does not exist":   {&rest.Config{Host: "https://api.shop.invalid:6443"}, cause.WayNoName, "api.shop.invalid"},
		"a certificate that is over":   {server(t, over, answer(200, "ok")), cause.WayExpired, "expired"},
		"a certificate of another":     {foreign, cause.WayUntrusted, "x509"},
		"a certificate of other names": {wrongName, cause.WayUntrusted, "api.shop.example"},
		"a login that is refused":      {server(t, soon, answer(401, "Unauthorized")), cause.WayLogin, "401"},
		"a login that may nothing":     {server(t, soon, answer(403, "Forbidden")), cause.WayLogin, "403"},
		"a kubeconfig that is over":    {outdated, cause.WayLogin, "certificate of the kubeconfig expired"},
		"a server that hangs":          {server(t, soon, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), cause.WayNoAnswer, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, context.DeadlineExceeded)
			defer cancel()
			i := Ask(ctx, test.config, "here")
			if i.Unreachable == nil || i.Unreachable.Way != test.way || !strings.Contains(i.Unreachable.Words, test.words) {
				t.Errorf("%+v, want %s with %q", i.Unreachable, test.way, test.words)
			}
			if i.From != "here" || i.Address != strings.TrimPrefix(test.config.Host, "https://") {
				t.Errorf("asked %s from %s", i.Address, i.From)
			}
		})
	}
}

// TestChecksClockAndCertificateAreRead from the answer of /readyz.
func TestChecksClockAndCertificateAreRead(t *testing.T) {
	t.Parallel()
	end := time.Now().Add(24 * time.Hour)
	config := server(t, end, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			http.Error(w, "down", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Date", time.Now().Add(5*time.Minute).UTC().Format(http.TimeFormat))
		http.Error(w, "[+]ping ok\n[-]etcd failed: reason withheld\n[-]etcd-readiness failed: reason withheld\nreadyz check failed", http.StatusInternalServerError)
	})
	i := Ask(t.Context(), config, "here")
	if i.Unreachable != nil || !slices.Equal(i.Failing, []string{"etcd", "etcd-readiness"}) || (i.Ahead-5*time.Minute).Abs() > 2*time.Second || i.Expires.Sub(end).Abs() > time.Second {
		t.Errorf("unreachable %+v, failing %v, ahead %s, expires %s", i.Unreachable, i.Failing, i.Ahead, i.Expires)
	}
	if len(i.Missing) != 8 {
		t.Errorf("nothing else answers, and missing is %v", i.Missing)
	}
	well := server(t, end, answer(200, "ok"))
	if i := Ask(t.Context(), well, "here"); len(i.Failing) > 0 || i.Ahead.Abs() > 2*time.Second {
		t.Errorf("of a server that is well: failing %v, ahead %s", i.Failing, i.Ahead)
	}
}

// TestAnAPIThatHangsLaterEndsInTime: one that says that it is ready, and nothing more.
func TestAnAPIThatHangsLaterEndsInTime(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	config := server(t, time.Now().Add(24*time.Hour), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			answer(200, "ok")(w, r)
			return
		}
		select {
		case <-r.Context().Done():
		case <-over:
		}
	})
	t.Cleanup(func() { close(over) })
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, context.DeadlineExceeded)
	defer cancel()
	ended := make(chan *cause.Inside, 1)
	go func() { ended <- Ask(ctx, config, "here") }()
	select {
	case i := <-ended:
		if i.Unreachable != nil || len(i.Missing) == 0 || i.Version != "" {
			t.Errorf("%+v", i)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("it waits for longer than it may")
	}
}

// TestTheVersionIsRead of an API server that answers.
func TestTheVersionIsRead(t *testing.T) {
	t.Parallel()
	config := server(t, time.Now().Add(24*time.Hour), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			answer(200, `{"gitVersion": "v1.34.4", "minor": "34"}`)(w, r)
			return
		}
		answer(200, "{}")(w, r)
	})
	if i := Ask(t.Context(), config, "here"); i.Version != "v1.34.4" {
		t.Errorf("version %q of %+v", i.Version, i)
	}
}
