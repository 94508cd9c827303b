package devstack

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
)

// firewall is a host's iptables as far as the plugin uses it.
type firewall struct {
	rules map[string][]string // by table, as -S prints them
	fail  string
	// removed are the arguments of rm.
	removed []string
}

func (f *firewall) run(_ context.Context, program string, args ...string) (string, error) {
	line := strings.Join(args, " ")
	switch program {
	case "ip":
		return "", errors.New("no such device")
	case "rm":
		f.removed = append(f.removed, args...)
		return "", nil
	}
	if program != "iptables" || f.fail != "" && strings.Contains(line, f.fail) {
		return "", errors.New("refused: " + program + " " + line)
	}
	table, action := args[2], args[3]
	if action == "-S" {
		return "-P INPUT DROP\n" + strings.Join(f.rules[table], "\n") + "\n", nil
	}
	rule := "-A " + strings.Join(args[4:], " ")
	at := slices.Index(f.rules[table], rule)
	switch action {
	case "-I":
		f.rules[table] = slices.Insert(f.rules[table], 0, rule)
	case "-C", "-D":
		if at < 0 {
			return "", errors.New("bad rule (does a matching rule exist in that chain?)")
		}
		if action == "-D" {
			f.rules[table] = slices.Delete(f.rules[table], at, at+1)
		}
	}
	return "", nil
}

func TestRulesHaveATagAndGoByIt(t *testing.T) {
	t.Parallel()
	theirs := map[string][]string{"filter": {"-A INPUT -s 10.42.0.0/16 -j ACCEPT", "-A INPUT -m comment --comment slipway-devstack-of-others -j DROP"}, "nat": {"-A POSTROUTING -o eth0 -j MASQUERADE"}}
	f := &firewall{rules: map[string][]string{"filter": slices.Clone(theirs["filter"]), "nat": slices.Clone(theirs["nat"])}}
	s := read(t, nil)
	for range 2 {
		if err := s.Open(t.Context(), f.run); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"FORWARD -d 10.42.0.0/16", "FORWARD -s 10.42.0.0/16", "INPUT -s 10.0.0.0/22", "INPUT -s 10.42.0.0/16", "INPUT -s 172.24.4.0/24"}
	var got []string
	for _, rule := range f.rules["filter"][:len(f.rules["filter"])-2] {
		match, found := strings.CutSuffix(strings.TrimPrefix(rule, "-A "), " -m comment --comment slipway-devstack -j ACCEPT")
		if !found {
			t.Errorf("no tag: %s", rule)
		}
		got = append(got, match)
	}
	if slices.Sort(got); !slices.Equal(got, want) || len(f.rules["nat"]) != 2 || !strings.Contains(f.rules["nat"][0], "-s 10.42.0.0/16 ! -d 10.42.0.0/16 -m comment --comment slipway-devstack -j MASQUERADE") {
		t.Errorf("rules %q, %q", got, f.rules["nat"])
	}
	// Other settings meanwhile: rules of the earlier ones go too.
	if err := read(t, map[string]string{"SLIPWAY_POD_CIDR": "10.99.0.0/16"}).Open(t.Context(), f.run); err != nil {
		t.Fatal(err)
	}
	f.fail = "-t nat -S"
	if err := Shut(t.Context(), f.run); err == nil || !slices.Equal(f.rules["filter"], theirs["filter"]) {
		t.Errorf("%v: %q", err, f.rules)
	}
	f.fail = ""
	if err := Shut(t.Context(), f.run); err != nil || !slices.Equal(f.rules["nat"], theirs["nat"]) || !slices.Equal(f.rules["filter"], theirs["filter"]) {
		t.Errorf("%v: %q", err, f.rules)
	}
	f.fail = "-I"
	if err := s.Open(t.Context(), f.run); err == nil || fault.Remedy(err) == "" {
		t.Errorf("refused: %v", err)
	}
}

// TestLeftoversEnd has processes as k3s leaves them: a program of its folder, and what that
// started from elsewhere. Another process stays.
func TestLeftoversEnd(t *testing.T) {
	t.Parallel()
	s := read(t, nil)
	shim := filepath.Join(s.K3sDir(), "data/current/bin/containerd-shim-runc-v2")
	if err := errors.Join(s.Mark(), os.MkdirAll(filepath.Dir(shim), 0o755)); err != nil {
		t.Fatal(err)
	}
	// Copied by another process: what this one has open for writing, a child that another
	// test starts at that moment has open too, and then it cannot run ("text file busy",
	// golang/go#22315).
	if out, err := exec.CommandContext(t.Context(), "cp", "/bin/bash", shim).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pids := filepath.Join(t.TempDir(), "pid")
	container := exec.CommandContext(t.Context(), shim, "-c", "sleep 300 & echo $! > "+pids+"; wait")
	other := exec.CommandContext(t.Context(), "sleep", "300")
	for _, cmd := range []*exec.Cmd{container, other} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	go func() { _ = container.Wait() }() // reaped, as init does
	var pid string
	for range 200 {
		text, _ := os.ReadFile(pids)
		if pid = strings.TrimSpace(string(text)); pid != "" {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	f := &firewall{rules: map[string][]string{}}
	// Another k3s of this host is nothing to a test.
	if err := sweep(t.Context(), f.run, s.Dir, "/proc", t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if state := stateOf(pid); state != "" && state != "Z" {
		t.Errorf("the container's process %s is in state %q", pid, state)
	}
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("another process was ended: %v", err)
	}
	_ = other.Process.Kill()
	_ = other.Wait()
	if _, err := os.Stat(s.K3sDir()); err != nil {
		t.Errorf("sweep removed data: %v", err)
	}
}

// stateOf is the state of a process, "" if it is gone.
func stateOf(pid string) string {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return ""
	}
	return strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:]))[0]
}

// TestMountsGoDeepestFirst reads a /proc of its own, in which nothing runs.
func TestMountsGoDeepestFirst(t *testing.T) {
	t.Parallel()
	s := read(t, nil)
	proc := t.TempDir()
	if err := errors.Join(s.Mark(), os.MkdirAll(s.K3sDir(), 0o755), os.Mkdir(filepath.Join(proc, "self"), 0o755)); err != nil {
		t.Fatal(err)
	}
	mounts := "a / ext4\nb /run/k3s/a tmpfs\nc /run/k3s/a/rootfs overlay\nd /var/lib/kubelet/pods/1/secret tmpfs\ne /run/netns/cni-7 nsfs\nf /run/netns/other nsfs\ng " + s.K3sDir() + "x/y tmpfs\nh /var/lib/kubelet tmpfs\n"
	if err := os.WriteFile(filepath.Join(proc, "self/mounts"), []byte(mounts), 0o600); err != nil {
		t.Fatal(err)
	}
	var calls []string
	bridge := true
	run := func(_ context.Context, program string, args ...string) (string, error) {
		if strings.HasSuffix(program, "tables") {
			return "", nil // there are no chains
		}
		call := program + " " + strings.Join(args, " ")
		calls = append(calls, call)
		if call == "ip link show cni0" && !bridge {
			return "", errors.New("no such device")
		}
		return "", nil
	}
	if err := Sweep(t.Context(), run, s.Dir, proc); err != nil {
		t.Fatal(err)
	}
	want := []string{"umount -l /var/lib/kubelet/pods/1/secret", "umount -l /run/netns/cni-7", "umount -l /run/k3s/a/rootfs", "umount -l /run/k3s/a", "ip link show cni0", "ip link delete cni0"}
	if !slices.Equal(calls, want) {
		t.Errorf("%q", calls)
	}
	bridge, calls = false, nil
	if err := Sweep(t.Context(), run, s.Dir, proc); err != nil || slices.Contains(calls, "ip link delete cni0") {
		t.Errorf("%v: %q", err, calls)
	}
	calls = nil
	if err := Sweep(t.Context(), run, t.TempDir(), proc); err != nil || len(calls) > 0 {
		t.Errorf("a host without k3s: %v: %q", err, calls)
	}
}

func TestCleanRemovesItsOwnFolderOnly(t *testing.T) {
	t.Parallel()
	f := &firewall{rules: map[string][]string{}}
	theirs := t.TempDir()
	if err := Clean(t.Context(), f.run, theirs, "/proc"); fault.ExitCode(err) != fault.ExitUsage {
		t.Errorf("a folder of somebody else: %v", err)
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Error(err)
	}
	s := read(t, nil)
	if err := errors.Join(s.Mark(), s.Configure(), s.Open(t.Context(), f.run)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is gone
		if err := Clean(t.Context(), f.run, s.Dir, "/proc"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(s.Dir); !errors.Is(err, os.ErrNotExist) || len(f.rules["filter"])+len(f.rules["nat"]) > 0 {
			t.Errorf("left %v, %q", err, f.rules)
		}
	}
	if len(f.removed) > 0 {
		t.Errorf("without k3s %q were removed", f.removed)
	}
	if err := errors.Join(s.Mark(), os.MkdirAll(s.K3sDir(), 0o700), Clean(t.Context(), f.run, s.Dir, "/proc")); err != nil || !slices.Contains(f.removed, "/etc/rancher/node") {
		t.Errorf("%v: %q", err, f.removed)
	}
}
