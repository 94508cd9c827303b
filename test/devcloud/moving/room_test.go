package moving

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/process"
)

// room is a host in the devcloud's network, with systemd and cgroups of its own: the one on
// which the plugin of DevStack is tested. It ends with the test, and the kernel ends all in it.
type room struct {
	w   *world
	cmd *exec.Cmd
}

// roomTime is how long a room may take until it can be entered.
const roomTime = time.Minute

// newRoom makes a room whose layers are in the folder of the test.
func (w *world) newRoom(network string) *room {
	w.Helper()
	script, err := filepath.Abs("../../../internal/cli/devstack/testdata/room")
	w.must(err)
	var said bytes.Buffer
	r := &room{w: w, cmd: exec.Command("nsenter", "--net="+network, script, "systemd", fmt.Sprintf("slipway-devstack-%d", os.Getpid()))}
	r.cmd.SysProcAttr = process.Bound(true)
	r.cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC
	r.cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "WORK=" + w.work}
	r.cmd.Stdout, r.cmd.Stderr = &said, &said
	w.sweepGroups()
	w.must(r.cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = r.cmd.Wait() // it is killed
	}()
	w.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-ended
		w.sweepGroups()
	})
	for end := time.Now().Add(roomTime); !r.usable(); time.Sleep(50 * time.Millisecond) {
		select {
		case <-ended:
			w.Fatalf("the room ended at once: %s", &said)
		default:
		}
		if time.Now().After(end) {
			w.Fatalf("the room is not there: %s", &said)
		}
	}
	return r
}

// usable reports whether units can be started.
func (r *room) usable() bool {
	if _, err := os.Stat(filepath.Join(r.w.work, "room")); err != nil {
		return false
	}
	out, _ := r.command(context.Background(), "systemctl", "is-system-running").Output()
	state := strings.TrimSpace(string(out))
	return state == "running" || state == "degraded"
}

// command is one in the room, not started yet.
func (r *room) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	enter := []string{"--target", strconv.Itoa(r.cmd.Process.Pid), "--pid", "--mount", "--net", "--uts", "--ipc", "--cgroup", "--", name}
	cmd := exec.CommandContext(ctx, "nsenter", append(enter, args...)...)
	cmd.SysProcAttr = process.Bound(true)
	return cmd
}

// do runs a program in the room.
func (r *room) do(args ...string) string {
	r.w.Helper()
	out, err := r.command(r.w.Context(), args[0], args[1:]...).CombinedOutput()
	if err != nil {
		r.w.Fatalf("%q: %v: %s", args, err, out)
	}
	return string(out)
}

// sweepGroups removes the cgroups of this test and of those that were killed. The kernel keeps
// one in which a process is.
func (w *world) sweepGroups() {
	for _, pattern := range []string{"/sys/fs/cgroup/slipway-devstack-*", "/sys/fs/cgroup/*/slipway-devstack-*"} {
		groups, err := filepath.Glob(pattern)
		w.must(err)
		for _, group := range groups {
			_, text, _ := strings.Cut(filepath.Base(group), "devstack-")
			pid, err := strconv.Atoi(text)
			if err != nil || pid != os.Getpid() && syscall.Kill(pid, 0) == nil {
				continue
			}
			if out, err := exec.Command("find", group, "-depth", "-type", "d", "-exec", "rmdir", "{}", "+").CombinedOutput(); err != nil {
				w.Logf("cgroups are left: %s", out)
			}
		}
	}
}
