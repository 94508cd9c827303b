package datastore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// machine is a seed: k3s in a network of its own, which systemctl stops and starts.
type machine struct {
	host
	t      *testing.T
	bundle string
	folder string

	mu      sync.Mutex
	running *exec.Cmd
}

// inNetwork gives k3s an /etc of its own, as it writes to /etc/rancher whatever it is told,
// makes the interface that it wants, and runs k3s without a kubelet. It goes with the test, and
// takes all of its PID namespace with it.
const inNetwork = `(cd "$0" && mount -t overlay overlay -o lowerdir=/etc,upperdir=etc,workdir=work /etc) &&
ip link set lo up && ip link add d0 type veth peer name d1 && ip link set d1 up && ip addr add 10.77.0.1/24 dev d0 && ip link set d0 up &&
ip route add default via 10.77.0.254 dev d0 && "$@"; exit`

func newMachine(t *testing.T, name string) *machine {
	t.Helper()
	folder := os.Getenv("SLIPWAY_BUNDLE")
	if folder == "" {
		t.Skip("SLIPWAY_BUNDLE is not set")
	}
	if os.Getuid() != 0 {
		t.Skip("only root makes network namespaces")
	}
	m := &machine{t: t, bundle: folder, folder: filepath.Join(t.TempDir(), name)}
	t.Cleanup(m.stop)
	m.start()
	return m
}

func (m *machine) start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running != nil {
		return
	}
	log, err := os.OpenFile(m.folder+".log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		m.t.Error(err)
		return
	}
	defer log.Close()
	etc := m.folder + "-etc"
	for _, folder := range []string{"etc", "work"} {
		if err := os.MkdirAll(filepath.Join(etc, folder), 0o755); err != nil {
			m.t.Error(err)
			return
		}
	}
	cmd := exec.Command("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", inNetwork, etc, filepath.Join(m.bundle, "bin", "k3s"), "server", "--disable-agent", "--data-dir", m.folder,
		"--write-kubeconfig", m.folder+".yaml", "--disable", "coredns,servicelb,traefik,local-storage,metrics-server", "--secrets-encryption", "--egress-selector-mode", "disabled",
		"--flannel-backend", "none", "--disable-helm-controller", "--disable-cloud-controller", "--disable-network-policy")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		m.t.Error(err)
		return
	}
	m.running = cmd
}

func (m *machine) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil {
		return
	}
	_ = syscall.Kill(-m.running.Process.Pid, syscall.SIGKILL)
	_ = m.running.Wait()
	m.running = nil
}

// Run implements Host.
func (m *machine) Run(ctx context.Context, program string, args ...string) (string, error) {
	var out bytes.Buffer
	err := m.Pipe(ctx, nil, &out, program, args...)
	return out.String(), err
}

// Pipe implements Host.
func (m *machine) Pipe(ctx context.Context, in io.Reader, out io.Writer, program string, args ...string) error {
	if program == "systemctl" {
		map[string]func(){"stop": m.stop, "start": m.start}[args[0]]()
		return nil
	}
	return m.host.Pipe(ctx, in, out, program, args...)
}

// kubectl asks the machine's API by a kubeconfig, with patience.
func (m *machine) kubectl(kubeconfig string, args ...string) string {
	m.t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; {
		m.mu.Lock()
		pid := m.running.Process.Pid
		m.mu.Unlock()
		words := append([]string{"--net=/proc/" + strconv.Itoa(pid) + "/ns/net", filepath.Join(m.bundle, "bin", "kubectl"), "--kubeconfig", kubeconfig, "--request-timeout=10s"}, args...)
		out, err := exec.CommandContext(m.t.Context(), "nsenter", words...).Output()
		if err == nil {
			return strings.TrimSpace(string(out)) // not what it warns of: a first attempt that failed
		}
		if time.Now().After(end) {
			log, _ := os.ReadFile(m.folder + ".log")
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				out = append(out, exit.Stderr...)
			}
			m.t.Fatalf("kubectl %v: %v\n%s\nk3s said:\n%s", args, err, out, log[max(0, len(log)-3000):])
		}
		time.Sleep(time.Second)
	}
}

// TestK3s on a new machine is the old cluster: its objects, its Secrets, which are
// encrypted, and its authority, by which former clients log in.
func TestK3s(t *testing.T) {
	const hosts = "/etc/rancher"
	if _, err := os.Stat(hosts); errors.Is(err, fs.ErrNotExist) {
		t.Cleanup(func() {
			if _, err := os.Stat(hosts); err == nil {
				t.Errorf("k3s left %s on the host", hosts)
			}
		})
	}
	old := newMachine(t, "old")
	old.kubectl(old.folder+".yaml", "create", "configmap", "kept", "--from-literal=a=b")
	old.kubectl(old.folder+".yaml", "create", "secret", "generic", "hidden", "--from-literal=a=b")
	var archive bytes.Buffer
	if err := Take(t.Context(), old, old.folder, &archive); err != nil {
		t.Fatal(err)
	}
	if has, err := Has(t.Context(), old, old.folder, "/registry/configmaps/default/kept"); err != nil || !has {
		t.Errorf("the datastore does not have what was written: %v", err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kept.yaml")
	text, err := os.ReadFile(old.folder + ".yaml")
	if err == nil {
		err = os.WriteFile(kubeconfig, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	old.stop()

	fresh := newMachine(t, "fresh")
	fresh.kubectl(fresh.folder+".yaml", "create", "configmap", "other", "--from-literal=a=b")
	if has, err := Has(t.Context(), fresh, fresh.folder, "/registry/configmaps/default/kept"); err != nil || has {
		t.Errorf("a new datastore has the old object: %v", err)
	}
	if err := Put(t.Context(), fresh, fresh.folder, "b1", archive.Bytes()); err != nil {
		t.Fatal(err)
	}
	if got := fresh.kubectl(kubeconfig, "get", "secret", "hidden", "-o", "jsonpath={.data.a}"); got != "Yg==" {
		t.Errorf("the Secret has %q", got)
	}
	if got := fresh.kubectl(kubeconfig, "get", "configmaps", "-o", "name"); !strings.Contains(got, "configmap/kept") || strings.Contains(got, "other") {
		t.Errorf("it has %s", got)
	}
	fresh.kubectl(kubeconfig, "create", "configmap", "after", "--from-literal=a=b")
}
