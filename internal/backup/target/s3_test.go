package target_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/slipway-sh/slipway/internal/backup/target"
	"github.com/slipway-sh/slipway/internal/fault"
)

// gateway is a real S3 server, VersityGW, on a folder: the program that
// SLIPWAY_S3_SERVER names. It ends with the test.
func gateway(t *testing.T, more ...string) (address, folder string) {
	t.Helper()
	program := os.Getenv("SLIPWAY_S3_SERVER")
	if program == "" {
		t.Skip("SLIPWAY_S3_SERVER names no server: run make e2e")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, folder = listener.Addr().String(), t.TempDir()
	listener.Close()
	if err := os.Mkdir(filepath.Join(folder, "backups"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, slices.Concat([]string{"--port", address, "--region", "default"}, more, []string{"posix", "--sidecar", t.TempDir(), folder})...)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY_ID=key", "ROOT_SECRET_ACCESS_KEY=secret")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			connection.Close()
			return address, folder
		}
		if time.Now().After(end) {
			t.Fatalf("the server does not answer: %v", err)
		}
	}
}

var login = credentials.NewStaticCredentialsProvider("key", "secret", "")

// TestS3 is on a real server, with the bucket in the path and in the host name.
func TestS3(t *testing.T) {
	t.Parallel()
	address, _ := gateway(t)
	contract(t, open(t, "s3://backups/prod?region=default&pathStyle=true&endpoint=http://"+address, target.Access{S3: login}))
	denied := open(t, "s3://backups/prod?region=default&pathStyle=true&endpoint=http://"+address, target.Access{S3: credentials.NewStaticCredentialsProvider("key", "other", "")})
	if err := denied.Put(t.Context(), "x", nil); !errors.Is(err, target.ErrDenied) {
		t.Errorf("a wrong secret: %v", err)
	}
	if _, err := open(t, "s3://nowhere?region=default&pathStyle=true&endpoint=http://"+address, target.Access{S3: login}).List(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "no such bucket") {
		t.Errorf("no bucket: %v", err)
	}
}

func TestS3VirtualHost(t *testing.T) {
	t.Parallel()
	address, _ := gateway(t, "--virtual-domain", "s3.test")
	_, port, _ := net.SplitHostPort(address)
	contract(t, open(t, "s3://backups/prod?region=default&endpoint=http://s3.test:"+port, target.Access{S3: login, Dial: func(ctx context.Context, network, asked string) (net.Conn, error) {
		if host, _, _ := net.SplitHostPort(asked); host != "backups.s3.test" {
			t.Errorf("connects to %s", asked)
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}))
}

// s3With answers each request of an S3 client over TLS.
func s3With(t *testing.T, handle http.HandlerFunc) (string, *x509.CertPool) {
	t.Helper()
	server := httptest.NewTLSServer(handle)
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return "s3://backups?pathStyle=true&endpoint=" + server.URL, pool
}

// TestS3OwnAuthority: the certificate is verified with the own CA, and refused
// without it.
func TestS3OwnAuthority(t *testing.T) {
	t.Parallel()
	asked := ""
	url, pool := s3With(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		asked = r.Header.Get("If-None-Match")
	})
	if err := open(t, url, target.Access{S3: login, Authorities: pool}).Put(t.Context(), "a", []byte("x")); err != nil || asked != "*" {
		t.Errorf("%v, asked %q", err, asked)
	}
	if err := open(t, url, target.Access{S3: login}).Put(t.Context(), "a", []byte("x")); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the CA: %v", err)
	}
}

// TestS3Faults: a full, a refusing and a silent server, each with its cause.
func TestS3Faults(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	tests := map[string]struct {
		handle http.HandlerFunc
		want   error
	}{
		"full":   {answer(507, "XMinioStorageFull"), target.ErrFull},
		"quota":  {answer(403, "QuotaExceeded"), target.ErrFull},
		"denied": {answer(403, "AccessDenied"), target.ErrDenied},
		"exists": {answer(412, "PreconditionFailed"), target.ErrExists},
		"slow":   {func(http.ResponseWriter, *http.Request) { <-release }, target.ErrSlow},
	}
	for name, test := range tests {
		url, pool := s3With(t, test.handle)
		one := open(t, url, target.Access{S3: login, Authorities: pool, Patience: 2 * time.Second})
		if err := one.Put(t.Context(), "a", []byte("x")); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Cleanup(func() { close(release) }) // before the servers end, which wait for their answers
}

func answer(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
	}
}

// TestABodyThatStops: a server that stops in the middle of an object is slow, and
// one that closes the connection is no end of the object.
func TestABodyThatStops(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	for name, stop := range map[string]func(){"silent": func() { <-release }, "closed": func() { panic(http.ErrAbortHandler) }} {
		url, pool := s3With(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte("half"))
			_ = http.NewResponseController(w).Flush()
			stop()
		})
		body, err := open(t, url, target.Access{S3: login, Authorities: pool, Patience: time.Second}).Get(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(body)
		body.Close()
		if err == nil || name == "silent" && !errors.Is(err, target.ErrSlow) || fault.Remedy(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Cleanup(func() { close(release) })
}
