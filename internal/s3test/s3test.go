// Package s3test runs a real S3 server for tests: VersityGW on a folder, the program
// that SLIPWAY_S3_SERVER names, as `make e2e` builds it.
package s3test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Server has one bucket. The key is "key", the secret "secret", the region "default".
type Server struct {
	// Address is host and port, without TLS.
	Address string
	// Folder has a folder for the bucket, with a file for each object.
	Folder string
}

// Start runs a server until the test ends; more are arguments of the program. Without a
// program the test is skipped.
func Start(t *testing.T, bucket string, more ...string) Server {
	t.Helper()
	program := os.Getenv("SLIPWAY_S3_SERVER")
	if program == "" {
		t.Skip("SLIPWAY_S3_SERVER names no server: run make e2e")
	}
	s := Server{Address: free(t), Folder: t.TempDir()}
	if err := os.Mkdir(filepath.Join(s.Folder, bucket), 0o700); err != nil {
		t.Fatal(err)
	}
	said := &bytes.Buffer{}
	cmd := exec.Command(program, slices.Concat([]string{"--port", s.Address, "--region", "default"}, more, []string{"posix", "--sidecar", t.TempDir(), s.Folder})...)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY_ID=key", "ROOT_SECRET_ACCESS_KEY=secret")
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the server said:\n%s", said)
		}
	})
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		connection, err := net.Dial("tcp", s.Address)
		if err == nil {
			connection.Close()
			return s
		}
		if time.Now().After(end) {
			t.Fatalf("the server does not answer: %v", err)
		}
	}
}

// free is an address of the loopback that nothing listens on.
func free(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
