// Package endpoint gives tests and benches `slipway serve magnum` as processes
// of their own, as an operator runs it.
package endpoint

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// startTime is how long an endpoint may take until it is healthy; Keystone can
// be late on a machine that is busy.
const startTime = 5 * time.Minute

// Options are what an endpoint is started with.
type Options struct {
	// Program is the binary of Slipway.
	Program string
	// Kubeconfig is the content of the file that leads to the API server.
	Kubeconfig []byte
	// CloudsYAML is the path of a clouds.yaml, Cloud its entry of the service user.
	CloudsYAML, Cloud string
	// Listen and Metrics are addresses of this host, of FreeAddress.
	Listen, Metrics string
	// Flags are more of them.
	Flags []string
}

// Endpoint is a process that serves the API.
type Endpoint struct {
	// URL is where the API is, with /v1.
	URL string

	process *exec.Cmd
}

// Start starts an endpoint and waits until it is healthy. It is killed when the
// test ends; what it said is logged if the test failed.
func Start(t testing.TB, o Options) *Endpoint {
	t.Helper()
	dir := t.TempDir()
	kubeconfig, log := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "log")
	if err := os.WriteFile(kubeconfig, o.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close() // the process has its own
	process := exec.Command(o.Program, append([]string{"serve", "magnum", "--kubeconfig", kubeconfig, "--os-cloud", o.Cloud, "--install-crds",
		"--listen", o.Listen, "--metrics-address", o.Metrics, "--log-level", "warn", "--drain-time", "0s"}, o.Flags...)...)
	process.Env = append(os.Environ(), "OS_CLIENT_CONFIG_FILE="+o.CloudsYAML)
	process.Stdout, process.Stderr = out, out
	process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	e := &Endpoint{URL: "http://" + o.Listen + "/v1", process: process}
	t.Cleanup(func() {
		e.Kill()
		if text, _ := os.ReadFile(log); t.Failed() {
			t.Logf("slipway serve magnum at %s said:\n%s", o.Listen, text)
		}
	})
	for end := time.Now().Add(startTime); !healthy(o.Listen); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("slipway serve magnum at %s is not healthy", o.Listen)
		}
	}
	return e
}

func healthy(address string) bool {
	response, err := http.Get("http://" + address + "/healthcheck")
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// PID is the process's.
func (e *Endpoint) PID() int { return e.process.Process.Pid }

// Kill ends the process as a crash would; a second time it does nothing.
func (e *Endpoint) Kill() {
	_ = e.process.Process.Kill()
	_ = e.process.Wait()
}

// FreeAddress is a port of loopback that nothing listens on.
func FreeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
