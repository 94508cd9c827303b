// Package kubetest gives tests a real Kubernetes API server: the bundle's k3s
// without its agent, on loopback, with its own folder, ended with the test.
package kubetest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/slipway-sh/slipway/internal/kube/throwaway"
)

// Server is a running API server, with the controllers of Kubernetes (garbage
// collection, namespaces, service accounts) but without nodes.
type Server struct {
	// Config is of its administrator.
	Config *rest.Config
	// Kubeconfig is the same as a file's content.
	Kubeconfig []byte
}

// Start starts a server for a test, or skips the test where SLIPWAY_BUNDLE
// names no built bundle. Tests of a package share one by starting it in a
// parent test, or by Run in TestMain.
func Start(t *testing.T) *Server {
	t.Helper()
	dir := os.Getenv("SLIPWAY_BUNDLE")
	if dir == "" {
		t.Skip("SLIPWAY_BUNDLE names no bundle: run make e2e")
	}
	data := t.TempDir()
	server, stop, err := begin(program(dir), data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("k3s said:\n%s", throwaway.LastWords(data))
		}
	})
	return server
}

// Run starts a server for the tests of a package and runs them; without a
// bundle it gives them nil. It returns the exit code for TestMain.
func Run(m *testing.M, set func(*Server)) int {
	dir := os.Getenv("SLIPWAY_BUNDLE")
	if dir == "" {
		return m.Run()
	}
	data, err := os.MkdirTemp("", "slipway-kubetest-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(data)
	server, stop, err := begin(program(dir), data)
	if err != nil {
		panic(err)
	}
	defer stop()
	set(server)
	return m.Run()
}

// program is the bundle's k3s, or the one that SLIPWAY_K3S names: `make real` unpacks k3s once for
// all servers. The bundle's unpacks itself into the data of each, 230 MB.
func program(bundle string) string {
	if unpacked := os.Getenv("SLIPWAY_K3S"); unpacked != "" {
		return unpacked
	}
	return filepath.Join(bundle, "bin", "k3s")
}

// begin starts a server.
func begin(k3s, data string) (*Server, func(), error) {
	server, stop, err := throwaway.Start(context.Background(), k3s, data, os.Environ())
	if err != nil {
		return nil, nil, err
	}
	return &Server{Config: server.Config, Kubeconfig: server.Kubeconfig}, stop, nil
}

// FreePorts returns the first of some consecutive ports of loopback that nobody
// listens on, for what a test runs beside a server.
func FreePorts(count int) (first int, err error) { return throwaway.FreePorts(count) }
