package localseed_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/localseed"
	"github.com/slipway-sh/slipway/internal/localseed/localseedtest"
)

const inside = "SLIPWAY_LOCALSEED_INSIDE"

// TestARealLocalSeed makes a seed with Podman from the bundle: killed meanwhile, made anew,
// found, given images, and deleted with nothing left.
func TestARealLocalSeed(t *testing.T) {
	if os.Getenv("SLIPWAY_PROOFS") == "" || os.Getenv("SLIPWAY_BUNDLE") == "" || os.Geteuid() != 0 {
		t.Skip("set SLIPWAY_PROOFS=1 and SLIPWAY_BUNDLE, and be root: run make kind-test")
	}
	if os.Getenv(inside) == "" {
		again(t)
		return
	}
	folder, err := bundle.Open(os.Getenv("SLIPWAY_BUNDLE"))
	if err != nil {
		t.Fatal(err)
	}
	node := folder.Bill().Item(component.KindNode)
	if node == nil {
		t.Fatalf("the bundle has no %s: run make bundle", component.KindNode)
	}
	for _, variable := range localseedtest.Enter(t, filepath.Join(folder.Dir(), "bin", "runc")) {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	host := localseed.NewLooker(localseed.Podman).Look(t.Context(), "slipway-try")
	if host.Runtime != localseed.Podman || host.Problem != "" || host.MemoryMiB == 0 || host.Cluster != "" {
		t.Fatalf("the machine is %+v", host)
	}
	archive := func(items ...bundle.Item) io.ReadCloser {
		r, w := io.Pipe()
		go func() { w.CloseWithError(folder.WriteImageArchive(t.Context(), w, items)) }()
		return r
	}
	provider := localseed.Kind{Runtime: localseed.Podman}
	seed := localseed.Seed{Settings: localseed.Settings{Name: "slipway-try", Owner: "try@1", Image: node.Ref, PodCIDR: "10.42.0.0/16", ServiceCIDR: "10.43.0.0/16"},
		Provider: provider, Dir: t.TempDir(), Tell: func(text string) { t.Log(time.Now().Format(time.TimeOnly), text) },
		NodeImage: func() (io.ReadCloser, error) { return archive(*node), nil }}

	killed(t, seed)
	if kubeconfig, err := seed.Find(t.Context()); kubeconfig != "" || err != nil {
		t.Fatalf("a half-made seed was found: %v", err)
	}
	if cluster, err := provider.Find(t.Context(), seed.Name); err != nil || cluster == nil || cluster.Owner != "try@1" || cluster.Finished {
		t.Fatalf("what the killed run left is %+v, %v", cluster, err)
	}
	kubeconfig, err := seed.Bring(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := seed.Find(t.Context()); err != nil || again != kubeconfig {
		t.Errorf("the seed is not found: %v", err)
	}
	other := seed
	other.Owner = "try@2"
	if _, err := other.Bring(t.Context()); err == nil || !strings.Contains(err.Error(), "belongs to try@1") {
		t.Errorf("another environment got it: %v", err)
	}
	item := folder.Bill().Item("cluster-api-controller")
	images := archive(*item)
	if err := provider.Import(t.Context(), seed.Name, images); err != nil {
		t.Error(err)
	}
	images.Close()
	ready(t, kubeconfig, filepath.Join(folder.Dir(), "bin", "kubectl"))
	if out := podman(t, "exec", "slipway-try-control-plane", "crictl", "images"); !strings.Contains(out, "cluster-api-controller") {
		t.Errorf("the node has the images\n%s", out)
	}
	if err := seed.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out := podman(t, "ps", "--all", "--quiet") + podman(t, "volume", "ls", "--quiet"); strings.TrimSpace(out) != "" {
		t.Errorf("left are %s", out)
	}
}

// killed begins a seed and ends the wait for it when its container runs, as a killed run
// does; what kind's library still does meanwhile is killed too.
func killed(t *testing.T, seed localseed.Seed) {
	ctx, stop := context.WithCancelCause(t.Context())
	dead := errors.New("killed")
	go func() {
		for ctx.Err() == nil {
			time.Sleep(200 * time.Millisecond)
			if out, _ := exec.Command("podman", "ps", "--quiet").Output(); len(out) > 0 {
				stop(dead)
			}
		}
	}()
	if _, err := seed.Bring(ctx); !errors.Is(err, dead) {
		t.Fatalf("a killed run ended with %v", err)
	}
	children, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, child := range children {
		text, _ := os.ReadFile(child)
		if strings.HasPrefix(string(text), "podman\x00logs") || strings.HasPrefix(string(text), "podman\x00exec") || strings.HasPrefix(string(text), "podman\x00run") {
			t.Logf("kind still runs %q", text)
		}
	}
}

// ready waits until the node and CoreDNS, which needs the network of pods, are ready.
func ready(t *testing.T, kubeconfig, kubectl string) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "kubectl")
	text, err := os.ReadFile(kubectl)
	if err == nil {
		err = os.WriteFile(program, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"wait", "--for=condition=Ready", "node", "--all", "--timeout=3m"}, {"--namespace", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=3m"}} {
		if out, err := exec.Command(program, append([]string{"--kubeconfig", file}, args...)...).CombinedOutput(); err != nil {
			t.Errorf("kubectl %v: %v\n%s", args, err, out)
		}
	}
}

func podman(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("podman", args...).CombinedOutput()
	if err != nil {
		t.Errorf("podman %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// again runs the test in namespaces of its own; what it leaves there ends with it.
func again(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(inside) != "" {
		if err := settle(); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// settle makes the namespaces usable: mounts stay inside, /proc shows what runs here, and
// loopback is up.
func settle() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	return exec.Command("ip", "link", "set", "lo", "up").Run()
}
