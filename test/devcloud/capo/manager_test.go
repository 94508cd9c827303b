package capo

import (
	"archive/tar"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/slipway-sh/slipway/internal/bundle"
)

// manager is the controller of a provider, out of the bundle's image and run as
// a process of this host.
type manager struct {
	*testing.T
	provider provider
	// port is of its webhooks, which trust the authority.
	port      int
	authority []byte
	folder    string
	ended     chan struct{}
}

// newManager takes the program out of the image and makes its certificate.
func newManager(t *testing.T, p provider, port int) *manager {
	t.Helper()
	m := &manager{T: t, provider: p, port: port, folder: t.TempDir(), ended: make(chan struct{})}
	m.authority = certificate(t, m.folder)
	m.extract(os.Getenv("SLIPWAY_BUNDLE"))
	return m
}

// extract writes the image's /manager into the folder.
func (m *manager) extract(dir string) {
	m.Helper()
	folder := need(bundle.Open(dir))(m)
	item := folder.Bill().Item(m.provider.image)
	if item == nil {
		m.Fatalf("the bundle has no image %s", m.provider.image)
	}
	files := mutate.Extract(need(folder.Image(*item))(m))
	defer files.Close()
	for archive := tar.NewReader(files); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			m.Fatalf("image %s has no manager", m.provider.image)
		}
		if err != nil {
			m.Fatal(err)
		}
		if filepath.Clean("/"+header.Name) == "/manager" {
			m.write(archive)
			return
		}
	}
}

func (m *manager) write(program io.Reader) {
	m.Helper()
	file := need(os.OpenFile(m.path("manager"), os.O_CREATE|os.O_WRONLY, 0o700))(m)
	_, err := io.Copy(file, program)
	if err := errors.Join(err, file.Close()); err != nil {
		m.Fatal(err)
	}
}

func (m *manager) path(name string) string { return filepath.Join(m.folder, name) }

// start runs the program until the test ends, with the rights of its account
// alone, and waits for its webhooks.
func (m *manager) start(kubeconfig []byte) {
	m.Helper()
	if err := os.WriteFile(m.path("kubeconfig"), kubeconfig, 0o600); err != nil {
		m.Fatal(err)
	}
	log := need(os.Create(m.path("log")))(m)
	defer log.Close()
	command := exec.Command(m.path("manager"), "--kubeconfig", m.path("kubeconfig"), "--webhook-port", strconv.Itoa(m.port), "--webhook-cert-dir", m.folder,
		"--health-addr", "0", "--diagnostics-address", "0", "--insecure-diagnostics", "--v", "4")
	command.Stdout, command.Stderr = log, log
	command.Env = []string{"HOME=" + m.folder}
	// It goes with the test, also when that is killed.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		m.Fatal(err)
	}
	go func() {
		defer close(m.ended)
		command.Wait() //nolint:errcheck // it is killed
	}()
	m.Cleanup(func() { m.end(command.Process.Pid) })
	m.serves()
}

// serves waits for the webhooks.
func (m *manager) serves() {
	m.Helper()
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(m.authority)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(m.port))
	eventually(m.T, m.provider.image+" serves its webhooks", time.Minute, func() error {
		select {
		case <-m.ended:
			return fatal{errors.New("it ended")}
		default:
		}
		connection, err := tls.DialWithDialer(&net.Dialer{Timeout: time.Second}, "tcp", address, &tls.Config{RootCAs: trusted})
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// end kills the process; after a failure its last words are told.
func (m *manager) end(pid int) {
	syscall.Kill(-pid, syscall.SIGKILL) //nolint:errcheck // it may be gone
	<-m.ended
	if !m.Failed() {
		return
	}
	const most = 6000
	log, err := os.ReadFile(m.path("log"))
	if err != nil {
		m.Log(err)
	}
	m.Logf("%s said:\n%s", m.provider.image, log[max(0, len(log)-most):])
}

// url is the address of one of its webhooks.
func (m *manager) url(path string) string { return fmt.Sprintf("https://127.0.0.1:%d%s", m.port, path) }
