package devstack_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/process"
)

// room is a host of its own as far as a test needs one: a PID namespace whose first process
// is a child of the test's, and is killed with it, whatever ends the test. The kernel then
// ends all that runs in it, also what was started as a daemon.
type room struct {
	t   *testing.T
	cmd *exec.Cmd
	// whole is a host with systemd, cgroups and a network.
	whole bool
}

// roomTime is how long a room may take until it can be entered.
const roomTime = time.Minute

// newRoom makes a room whose layers are in a folder. network is the path of a network
// namespace: with one, the room is a whole host.
func newRoom(t *testing.T, work, network string) *room {
	t.Helper()
	script, err := filepath.Abs("testdata/room")
	if err != nil {
		t.Fatal(err)
	}
	r := &room{t: t, whole: network != ""}
	var said bytes.Buffer
	r.cmd = exec.Command(script)
	r.cmd.SysProcAttr = process.Bound(true)
	r.cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWNS | unix.CLONE_NEWPID
	if r.whole {
		r.cmd = exec.Command("nsenter", "--net="+network, script, "systemd", groupName(os.Getpid()))
		r.cmd.SysProcAttr = process.Bound(true)
		r.cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC
		sweepGroups(t)
	} else if os.Geteuid() != 0 {
		r.cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		r.cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		r.cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	r.cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "WORK=" + work}
	r.cmd.Stdout, r.cmd.Stderr = &said, &said
	if err := r.cmd.Start(); err != nil {
		t.Fatalf("making a room: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = r.cmd.Wait() // it is killed
	}()
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-ended
		if r.whole {
			sweepGroups(t)
		}
	})
	r.await(work, ended, &said)
	return r
}

// await waits until the room can be entered.
func (r *room) await(work string, ended <-chan struct{}, said fmt.Stringer) {
	r.t.Helper()
	for end := time.Now().Add(roomTime); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(work, "room")); err == nil && r.usable() {
			return
		}
		select {
		case <-ended:
			r.t.Fatalf("the room ended at once: %s", said)
		default:
		}
		if time.Now().After(end) {
			r.t.Fatal("the room is not there")
		}
	}
}

// usable reports whether units can be started.
func (r *room) usable() bool {
	if !r.whole {
		return true
	}
	out, _ := r.command(context.Background(), "systemctl", "is-system-running").Output()
	state := strings.TrimSpace(string(out))
	return state == "running" || state == "degraded"
}

// command is one in the room, not started yet.
func (r *room) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	enter := []string{"--target", strconv.Itoa(r.cmd.Process.Pid), "--pid", "--mount"}
	switch {
	case r.whole:
		enter = append(enter, "--net", "--uts", "--ipc", "--cgroup")
	case os.Geteuid() != 0:
		enter = append(enter, "--user")
	}
	cmd := exec.CommandContext(ctx, "nsenter", append(append(enter, "--", name), args...)...)
	cmd.SysProcAttr = process.Bound(true)
	return cmd
}

// groupName is the name of the cgroups of a test's process.
func groupName(pid int) string { return fmt.Sprintf("slipway-devstack-%d", pid) }

// sweepGroups removes the cgroups of this test and of those that were killed. The kernel
// keeps one in which a process is.
func sweepGroups(t *testing.T) {
	t.Helper()
	var all []string
	for _, pattern := range []string{"/sys/fs/cgroup/slipway-devstack-*", "/sys/fs/cgroup/*/slipway-devstack-*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	for _, group := range all {
		_, pid, _ := strings.Cut(filepath.Base(group), "devstack-")
		if _, err := os.Stat("/proc/" + pid); err == nil && pid != strconv.Itoa(os.Getpid()) {
			continue
		}
		if out, err := exec.Command("find", group, "-depth", "-type", "d", "-exec", "rmdir", "{}", "+").CombinedOutput(); err != nil {
			t.Logf("cgroups are left: %s", out)
		}
	}
}

// inside are the processes of a PID namespace, by their IDs here.
func inside(t *testing.T, space string) (all []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if other, err := os.Readlink(link); err == nil && other == space {
			all = append(all, link)
		}
	}
	return all
}

// TestARoomEndsWithItsTest starts this program's tests once more, and ends them: by a time
// limit, as go test does, and by a kill. What they started ends, a daemon and a phase that is
// under way too.
func TestARoomEndsWithItsTest(t *testing.T) {
	if work := os.Getenv(roomFolder); work != "" {
		endless(t, work)
		return
	}
	t.Parallel()
	for name, kill := range map[string]bool{"time limit": false, "kill": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work := t.TempDir()
			limit := map[bool]string{true: "10m", false: "15s"}[kill]
			cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()[:strings.Index(t.Name(), "/")]+"$", "-test.timeout="+limit)
			cmd.Env = append(os.Environ(), roomFolder+"="+work)
			cmd.SysProcAttr = process.Bound(true)
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			space := await(t, filepath.Join(work, "space"), ended, &said)
			if n := len(inside(t, space)); n < 4 {
				t.Errorf("%d processes are in the room; it should have its first, a daemon, and a phase with its child", n)
			}
			if kill {
				_ = cmd.Process.Kill()
			}
			if err := <-ended; err == nil {
				t.Fatal("the test did not fail")
			}
			if !kill && !strings.Contains(said.String(), "test timed out after "+limit) {
				t.Errorf("it was not ended by its time limit:\n%s", said.String())
			}
			for end := time.Now().Add(30 * time.Second); len(inside(t, space)) > 0; time.Sleep(50 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("left: %q", inside(t, space))
				}
			}
		})
	}
}

// await reads a file that another process writes, at once with its content.
func await(t *testing.T, path string, ended <-chan error, said fmt.Stringer) string {
	t.Helper()
	for {
		if text, err := os.ReadFile(path); err == nil {
			return string(text)
		}
		select {
		case err := <-ended:
			if strings.Contains(said.String(), "operation not permitted") {
				t.Skip("this process may make no namespaces: run it as root, as make e2e does")
			}
			t.Fatalf("it ended early: %v\n%s", err, said)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// roomFolder is the variable by which TestARoomEndsWithItsTest starts itself as the test that
// is ended.
const roomFolder = "SLIPWAY_ROOM_THAT_ENDS"

// endless has a daemon and a phase in a room, and waits for them.
func endless(t *testing.T, work string) {
	r := newRoom(t, work, "")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(r.command(t.Context(), "/bin/bash", "-c", "setsid sleep 600 < /dev/null > /dev/null 2>&1 &").Run())
	phase := r.command(t.Context(), "/bin/bash", "-c", "sleep 600; true")
	must(phase.Start())
	space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid_for_children", r.cmd.Process.Pid))
	must(err)
	for len(inside(t, space)) < 4 {
		time.Sleep(20 * time.Millisecond)
	}
	must(errors.Join(os.WriteFile(filepath.Join(work, "new"), []byte(space), 0o600), os.Rename(filepath.Join(work, "new"), filepath.Join(work, "space"))))
	_ = phase.Wait()
}
