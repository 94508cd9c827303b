package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// InitCommand is the argument with which this program starts itself as the
// first process of the namespaces: InitCommand JSON-of-layers.
const InitCommand = "init-of-the-namespaces"

// joined is what the first process is told when it may go on.
const joined = "joined"

// layers are the folders that make the root of the namespaces.
type layers struct {
	Lower               []string
	Upper, Work, Merged string
	Logs, Pycache       string
	// Tacker is Cloud.Tacker.
	Tacker string
}

// namespaces are what the cloud has for its own.
const namespaces = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWNET

// container is a running root with supervisord as its first process.
type container struct{ pid int }

// processFile says which process has the namespaces: its id, and when it
// started, by which it is told from a later one of the same id.
func (c *Cloud) processFile() string { return c.path("process") }

// running finds the container that an earlier process started.
func (c *Cloud) running() (container, bool) {
	text, err := os.ReadFile(c.processFile())
	if err != nil {
		return container{}, false
	}
	pid, started, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	number, err := strconv.Atoi(pid)
	if err != nil || started == "" || startOf(number) != started {
		return container{}, false
	}
	return container{number}, true
}

// startOf is the time at which a process started, in ticks since the host did;
// empty for one that has ended.
func startOf(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}

// begin starts a container on the layers.
func (c *Cloud) begin(l layers) (container, error) {
	for _, folder := range []string{l.Upper, l.Work, l.Merged, l.Logs, l.Pycache} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return container{}, fmt.Errorf("making a layer: %w", err)
		}
	}
	text, err := json.Marshal(l)
	if err != nil {
		return container{}, err
	}
	log, err := os.Create(filepath.Join(l.Logs, "container.log"))
	if err != nil {
		return container{}, fmt.Errorf("logging: %w", err)
	}
	defer log.Close()
	cmd := exec.Command("/proc/self/exe", InitCommand, string(text))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Setsid: true}
	wait, err := cmd.StdinPipe()
	if err != nil {
		return container{}, err
	}
	if err := cmd.Start(); err != nil {
		return container{}, fmt.Errorf("starting the namespaces (it takes root): %w", err)
	}
	inside := container{cmd.Process.Pid}
	go cmd.Wait() //nolint:errcheck // reaps it, should it end before this process
	note := fmt.Sprintf("%d %s\n", inside.pid, startOf(inside.pid))
	err = errors.Join(os.WriteFile(c.processFile(), []byte(note), 0o644), c.join(inside.pid))
	if err != nil {
		return container{}, errors.Join(err, inside.kill())
	}
	_, err = io.WriteString(wait, joined)
	if err := errors.Join(err, wait.Close(), inside.rooted()); err != nil {
		return container{}, errors.Join(fmt.Errorf("%w; its log:\n%s", err, tail(filepath.Join(l.Logs, "container.log"))), inside.kill())
	}
	return inside, nil
}

// rooted waits until the first process has its root and is supervisord: until
// then a command inside would run in the host's.
func (c container) rooted() error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", c.pid))
		if err != nil || startOf(c.pid) == "" {
			return errors.New("the namespaces ended at once")
		}
		if strings.TrimSpace(string(name)) == "supervisord" {
			return nil
		}
	}
	return errors.New("the namespaces have no root after a minute")
}

// Init is the first process of the namespaces: it makes their root and becomes
// supervisord. It returns only on errors.
func Init(argument string) error {
	var l layers
	if err := json.Unmarshal([]byte(argument), &l); err != nil {
		return fmt.Errorf("reading the layers: %w", err)
	}
	// Whoever started this says so when the way in is there, unless it was killed.
	if said, err := io.ReadAll(os.Stdin); err != nil || string(said) != joined {
		return fmt.Errorf("waiting for the way in: %q %w", said, err)
	}
	if err := l.mount(); err != nil {
		return err
	}
	if err := unix.Chroot(l.Merged); err != nil {
		return fmt.Errorf("entering the root: %w", err)
	}
	if err := errors.Join(os.Chdir("/"), unix.Sethostname([]byte("devcloud"))); err != nil {
		return err
	}
	for _, folder := range []string{"/run/mysqld", "/run/rabbitmq", "/run/openvswitch", "/run/ovn", "/run/octavia", "/run/netns", "/run/lock"} {
		if err := errors.Join(os.MkdirAll(folder, 0o777), os.Chmod(folder, 0o777)); err != nil {
			return err
		}
	}
	return unix.Exec("/usr/bin/supervisord", []string{"supervisord", "-n", "-c", "/etc/devcloud/supervisord.conf"}, environment())
}

// environment is that of every process of the cloud.
func environment() []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/root",
		"PYTHONWARNINGS=ignore", "PYTHONPYCACHEPREFIX=/var/cache/devcloud-python"}
}

// mountPoint is a call of mount.
type mountPoint struct {
	source, target, kind string
	flags                uintptr
	data                 string
}

// mount makes the root in the mount namespace, which nothing leaves.
func (l layers) mount() error {
	options := "lowerdir=" + strings.Join(l.Lower, ":") + ",upperdir=" + l.Upper + ",workdir=" + l.Work
	at := func(path string) string { return filepath.Join(l.Merged, path) }
	all := []mountPoint{
		{"", "/", "", unix.MS_REC | unix.MS_PRIVATE, ""},
		{"overlay", l.Merged, "overlay", 0, options},
		{"proc", at("proc"), "proc", 0, ""},
		{"sysfs", at("sys"), "sysfs", unix.MS_RDONLY, ""},
		{"/dev", at("dev"), "", unix.MS_BIND | unix.MS_REC, ""},
		{"tmpfs", at("run"), "tmpfs", 0, "mode=755"},
		{"tmpfs", at("tmp"), "tmpfs", 0, "mode=1777"},
		{l.Logs, at("var/log/devcloud"), "", unix.MS_BIND, ""},
		{l.Pycache, at("var/cache/devcloud-python"), "", unix.MS_BIND, ""},
	}
	if l.Tacker != "" { // the user's folder stays as it is
		all = append(all, mountPoint{l.Tacker, at(tackerFolder), "", unix.MS_BIND, ""},
			mountPoint{"", at(tackerFolder), "", unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY, ""})
	}
	for _, m := range all {
		if strings.HasPrefix(m.target, l.Merged) {
			if err := os.MkdirAll(m.target, 0o755); err != nil {
				return fmt.Errorf("making a mount point: %w", err)
			}
		}
		if err := unix.Mount(m.source, m.target, m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("mounting %s: %w", m.target, err)
		}
	}
	return nil
}

// command is one inside the container.
func (c container) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	enter := []string{"--target", strconv.Itoa(c.pid), "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wdns=/", "--", name}
	cmd := exec.CommandContext(ctx, "nsenter", append(enter, args...)...)
	cmd.Env = environment()
	return cmd
}

// kill ends the first process, and with it the kernel ends all others, the
// mounts and the way in.
func (c container) kill() error {
	if err := syscall.Kill(c.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("ending the namespaces: %w", err)
	}
	for end := time.Now().Add(20 * time.Second); startOf(c.pid) != ""; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("process %d does not end", c.pid)
		}
	}
	return nil
}
