package target_test

import (
	"context"
	"crypto/md5"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/slipway-sh/slipway/internal/backup/target"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/s3test"
)

var login = credentials.NewStaticCredentialsProvider("key", "secret", "")

// TestS3 is on a real server, with the bucket in the path and in the host name.
func TestS3(t *testing.T) {
	t.Parallel()
	address := s3test.Start(t, "backups").Address
	atomic(t, open(t, "s3://backups/prod?region=default&pathStyle=true&endpoint=http://"+address, target.Access{S3: login}))
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
	address := s3test.Start(t, "backups", "--virtual-domain", "s3.test").Address
	_, port, _ := net.SplitHostPort(address)
	atomic(t, open(t, "s3://backups/prod?region=default&endpoint=http://s3.test:"+port, target.Access{S3: login, Dial: func(ctx context.Context, network, asked string) (net.Conn, error) {
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

// TestS3OwnAuthority: the certificate is verified with the CA that is given, and refused
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

// TestS3WithObjectLock refuses what has no digest, as a bucket with a default retention does.
func TestS3WithObjectLock(t *testing.T) {
	t.Parallel()
	url, pool := s3With(t, func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		digest := md5.Sum(content)
		switch {
		case r.Method == http.MethodHead:
			w.WriteHeader(http.StatusNotFound)
		case r.Header.Get("Content-MD5") != base64.StdEncoding.EncodeToString(digest[:]):
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "<Error><Code>InvalidRequest</Code></Error>")
		}
	})
	if err := open(t, url, target.Access{S3: login, Authorities: pool}).Put(t.Context(), "a", []byte("x")); err != nil {
		t.Error(err)
	}
}

// TestS3ThatRefusesConditions: Swift answers 501 to If-None-Match. It is asked once.
func TestS3ThatRefusesConditions(t *testing.T) {
	t.Parallel()
	var asked []string
	url, pool := s3With(t, func(w http.ResponseWriter, r *http.Request) {
		condition := r.Header.Get("If-None-Match")
		switch {
		case r.Method == http.MethodHead:
			w.WriteHeader(http.StatusNotFound)
			return
		case condition != "":
			w.WriteHeader(http.StatusNotImplemented)
		}
		asked = append(asked, r.URL.Path+condition)
	})
	one := open(t, url, target.Access{S3: login, Authorities: pool})
	for _, name := range []string{"a", "b"} {
		if err := one.Put(t.Context(), name, []byte("x")); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"/backups/a*", "/backups/a", "/backups/b"}; !slices.Equal(asked, want) {
		t.Errorf("it asks %q, not %q", asked, want)
	}
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
