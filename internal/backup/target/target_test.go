package target_test

import (
	"bytes"
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
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/containers"

	"github.com/slipway-sh/slipway/internal/backup/location"
	"github.com/slipway-sh/slipway/internal/backup/target"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

func open(t *testing.T, url string, a target.Access) target.Target {
	t.Helper()
	l, err := location.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := target.Open(l, a)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// contract is what each target promises. The store holds nothing below the prefix
// of the target.
func contract(t *testing.T, one target.Target) {
	t.Helper()
	ctx := t.Context()
	if all, err := one.List(ctx, ""); err != nil || len(all) != 0 {
		t.Fatalf("at first: %v, %v", all, err)
	}
	if _, err := one.Get(ctx, "packs/a"); !errors.Is(err, target.ErrAbsent) {
		t.Errorf("what is not there: %v", err)
	}
	if err := one.Delete(ctx, "packs/a"); err != nil {
		t.Errorf("deleting what is not there: %v", err)
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for name, content := range map[string][]byte{"packs/a": big, "packs/b": {}, "repository": []byte("{}\n")} {
		if err := one.Put(ctx, name, content); err != nil {
			t.Fatal(err)
		}
		if got := read(t, one, name); !bytes.Equal(got, content) {
			t.Errorf("%s has %d bytes, not %d", name, len(got), len(content))
		}
	}
	if err := one.Put(ctx, "packs/a", []byte("other")); !errors.Is(err, target.ErrExists) {
		t.Errorf("putting again: %v", err)
	}
	if got := read(t, one, "packs/a"); !bytes.Equal(got, big) {
		t.Error("an object was replaced")
	}
	all, err := one.List(ctx, "packs/")
	if err != nil || len(all) != 2 || all[0].Name != "packs/a" || all[0].Size != int64(len(big)) || all[1].Name != "packs/b" || time.Since(all[0].Modified).Abs() > time.Hour {
		t.Errorf("listed %+v, %v", all, err)
	}
	first(t, one)
	if err := one.Delete(ctx, "packs/a"); err != nil {
		t.Error(err)
	}
	if _, err := one.Get(ctx, "packs/a"); !errors.Is(err, target.ErrAbsent) {
		t.Errorf("what was deleted: %v", err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if err := one.Put(ended, "late", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// first checks that of several at once one alone puts an object.
func first(t *testing.T, one target.Target) {
	t.Helper()
	var group sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		group.Go(func() { results[i] = one.Put(t.Context(), "backups/race", fmt.Append(nil, i)) })
	}
	group.Wait()
	won := slices.IndexFunc(results, func(err error) bool { return err == nil })
	for i, err := range results {
		if i != won && !errors.Is(err, target.ErrExists) {
			t.Errorf("writer %d: %v", i, err)
		}
	}
	if got := read(t, one, "backups/race"); won < 0 || string(got) != fmt.Sprint(won) {
		t.Errorf("%q is there, and writer %d was first", got, won)
	}
}

func read(t *testing.T, one target.Target, name string) []byte {
	t.Helper()
	body, err := one.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	contract(t, open(t, "file://"+dir, target.Access{}))
	info, err := os.Stat(filepath.Join(dir, "repository"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", ".*")); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

// TestHalfAFileIsNotListed: what a killed writer left of a file is no object.
func TestHalfAFileIsNotListed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".writing-123"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := open(t, "file://"+dir, target.Access{}).List(t.Context(), ""); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestFolderThatIsFull(t *testing.T) {
	t.Parallel()
	err := open(t, "file:///dev/full", target.Access{}).Put(t.Context(), "a", []byte("x"))
	if err == nil || fault.Remedy(err) == "" {
		t.Errorf("%v", err)
	}
}

func TestSwift(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	client := cloud.Member.ObjectStorage(t)
	access := target.Access{Swift: func() (*gophercloud.ServiceClient, error) { return client, nil }}
	contract(t, open(t, "swift://backups/prod/a", access))
	contract(t, open(t, "swift://backups/prod/ab", access))
}

// TestSwiftThatIsFull: a quota is told as that.
func TestSwiftThatIsFull(t *testing.T) {
	t.Parallel()
	cloud := sandboxtest.Start(t)
	client := cloud.Member.ObjectStorage(t)
	if _, err := containers.Create(t.Context(), client, "small", containers.CreateOpts{Metadata: map[string]string{"Quota-Bytes": "10"}}).Extract(); err != nil {
		t.Fatal(err)
	}
	one := open(t, "swift://small", target.Access{Swift: func() (*gophercloud.ServiceClient, error) { return client, nil }})
	err := one.Put(t.Context(), "a", make([]byte, 100))
	if !errors.Is(err, target.ErrFull) || !strings.Contains(fault.Remedy(err), "quota") {
		t.Errorf("%v", err)
	}
}

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
