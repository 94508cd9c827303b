package quorum

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/slipway-sh/slipway/internal/bundle/bundletest"
	"github.com/slipway-sh/slipway/internal/remote"
)

// programs are those of the bundle's image of etcd.
type programs struct{ etcd, ctl, utl string }

func find(t *testing.T) programs {
	t.Helper()
	return programs{bundletest.Program(t, "etcd", "etcd"), bundletest.Program(t, "etcd", "etcdctl"), bundletest.Program(t, "etcd", "etcdutl")}
}

// node is a machine of a control plane: a folder, with a kubelet that runs the etcd of
// its manifest, and the tools that a repair asks for.
type node struct {
	t *testing.T
	programs
	name, root, client, peer string

	mu      sync.Mutex
	running *exec.Cmd
	ended   chan struct{}
	// calls counts the programs that were run; before may end one before it runs, or after.
	calls  int
	before func(n int, program string) error
	after  func(n int, program string) error
	ran    []string
	// mounted says that the image of etcd is.
	mounted bool
}

// nodes are the machines of one cluster, whose kubelets run.
func nodes(t *testing.T, count int) []*node {
	t.Helper()
	p, list := find(t), []string{}
	all := make([]*node, count)
	for i := range all {
		all[i] = &node{t: t, programs: p, name: fmt.Sprintf("m%d", i), root: t.TempDir(), client: freeURL(t), peer: freeURL(t)}
		list = append(list, all[i].name+"="+all[i].peer)
	}
	for _, n := range all {
		n.write(manifest, fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: etcd, namespace: kube-system}
spec:
  containers:
    - name: etcd
      image: registry.k8s.io/etcd:x
      command: [etcd, --name=%s, --data-dir=/var/lib/etcd, "--listen-client-urls=%s", "--advertise-client-urls=%[2]s", "--listen-peer-urls=%s", "--initial-advertise-peer-urls=%[3]s", "--initial-cluster=%s", --initial-cluster-state=new, --unsafe-no-fsync, --logger=zap, --log-level=error]
`, n.name, n.client, n.peer, strings.Join(list, ",")))
		if err := os.MkdirAll(filepath.Join(n.root, "var/lib/etcd"), 0o700); err != nil {
			t.Fatal(err)
		}
		n.boot()
	}
	return all
}

func freeURL(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func (n *node) write(path, text string) {
	n.t.Helper()
	path = filepath.Join(n.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// boot starts the kubelet, which ends with the test.
func (n *node) boot() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			n.sync()
			time.Sleep(20 * time.Millisecond)
		}
		n.kill(syscall.SIGKILL)
	}()
	n.t.Cleanup(func() { cancel(); <-done })
}

// sync runs etcd if there is a manifest, and ends it if there is none.
func (n *node) sync() {
	text, err := os.ReadFile(filepath.Join(n.root, manifest))
	if err != nil {
		n.kill(syscall.SIGTERM)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.running != nil {
		select {
		case <-n.ended:
		default:
			return
		}
	}
	_, words, _ := strings.Cut(string(text), "command: [etcd, ")
	words, _, _ = strings.Cut(words, "]\n")
	words = strings.ReplaceAll(strings.ReplaceAll(words, `"`, ""), "=/var/lib", "="+n.root+"/var/lib")
	cmd := exec.Command(n.etcd, strings.Split(words, ", ")...)
	ended := make(chan struct{})
	if err := cmd.Start(); err != nil {
		return
	}
	go func() { _ = cmd.Wait(); close(ended) }()
	n.running, n.ended = cmd, ended
}

func (n *node) kill(signal syscall.Signal) {
	n.mu.Lock()
	cmd, ended := n.running, n.ended
	n.running = nil
	n.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(signal)
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
	}
}

// lose removes the machine: its etcd never comes back.
func (n *node) lose() {
	_ = os.Remove(filepath.Join(n.root, manifest))
	n.kill(syscall.SIGKILL)
}

// Run implements Host.
func (n *node) Run(ctx context.Context, program string, args ...string) (string, error) {
	var out bytes.Buffer
	err := n.Pipe(ctx, nil, &out, program, args...)
	return out.String(), err
}

// Pipe implements Host.
func (n *node) Pipe(ctx context.Context, in io.Reader, out io.Writer, program string, args ...string) error {
	n.mu.Lock()
	n.calls++
	count := n.calls
	n.ran = append(n.ran, program+" "+strings.Join(args, " "))
	n.mu.Unlock()
	if n.before != nil {
		if err := n.before(count, program); err != nil {
			return err
		}
	}
	err := n.exec(ctx, in, out, program, args)
	if n.after != nil {
		if lost := n.after(count, program); lost != nil {
			return lost
		}
	}
	return err
}

func (n *node) exec(ctx context.Context, in io.Reader, out io.Writer, program string, args []string) error {
	switch program {
	case "crictl":
		if args[2] == "ps" {
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.running != nil {
				fmt.Fprintln(out, "0123abcd")
			}
			return nil
		}
		program, args = n.ctl, args[6:]
	case "systemctl":
		return nil
	case "ctr":
		n.mounted = args[2] == "mount" && args[3] == "registry.k8s.io/etcd:x" && args[4] == filepath.Join(n.root, imageFolder)
		return nil
	case filepath.Join(n.root, imageFolder, "usr/local/bin/etcdutl"):
		if !n.mounted {
			return &remote.Failure{Program: program, Status: 127, Said: "not found"}
		}
		program = n.utl
	}
	cmd := exec.CommandContext(ctx, program, args...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &said
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return &remote.Failure{Program: program, Status: exit.ExitCode(), Said: strings.TrimSpace(said.String())}
	}
	return err
}

// dial is a client of the node's etcd alone.
func (n *node) dial() *clientv3.Client {
	n.t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{n.client}, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { c.Close() })
	return c
}

// put writes with patience: a cluster that starts elects first.
func (n *node) put(key, value string) int64 {
	n.t.Helper()
	c := n.dial()
	for end := time.Now().Add(time.Minute); ; {
		ctx, cancel := context.WithTimeout(n.t.Context(), 5*time.Second)
		done, err := c.Put(ctx, key, value)
		cancel()
		if err == nil {
			return done.Header.Revision
		}
		if time.Now().After(end) {
			n.t.Fatalf("writing to %s: %v", n.name, err)
		}
	}
}
