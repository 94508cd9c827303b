package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/bundle"
)

// bundleDir is the folder of the built bundle; `make e2e` names it.
func bundleDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("SLIPWAY_BUNDLE")
	if dir == "" {
		t.Skip("SLIPWAY_BUNDLE names no bundle: run make e2e")
	}
	return dir
}

// builtProgram is the path of the program, which what builds a bundle has built.
func builtProgram(t *testing.T) string {
	t.Helper()
	bundleDir(t)
	program, err := filepath.Abs("../../bin/slipway")
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// openBundle opens the built bundle.
func openBundle(t *testing.T) *bundle.Folder {
	t.Helper()
	folder, err := bundle.Open(bundleDir(t))
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

const isolated = "SLIPWAY_E2E_ISOLATED"

// isolate runs the calling test again in namespaces of its own, without a
// network but loopback, and reports whether this is that second run. When it
// ends, the kernel ends every process that it started.
func isolate(t *testing.T) bool {
	t.Helper()
	if os.Getenv(isolated) == t.Name() {
		enter(t)
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("namespaces and mounts need root")
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1", fmt.Sprintf("-test.short=%t", testing.Short()))
	cmd.Env = append(os.Environ(), isolated+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
	// As it comes: a run that is ended from outside tells how far it was.
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return false
}

// enter makes the namespaces usable: mounts stay inside, /proc shows only what
// runs here, what is written to /etc (k3s does) is the test's, and loopback is up.
func enter(t *testing.T) {
	t.Helper()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("overlay", "/etc", "overlay", 0, fmt.Sprintf("lowerdir=/etc,upperdir=%s,workdir=%s", t.TempDir(), t.TempDir())); err != nil {
		t.Logf("an /etc of the test's own: %v", err) // not on every file system
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	request.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request); err != nil {
		t.Fatal(err)
	}
}

// start starts a program of the bundle with its output in a file of the test.
func start(t *testing.T, name string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), filepath.Base(name)+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s said:\n%s", name, text[max(0, len(text)-4000):])
		}
	})
}

// run runs a program to its end and returns what it printed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}
