package throwaway

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/slipway-sh/slipway/internal/process"
)

// withOwnEtc makes the command of k3s, which writes to /etc/rancher whatever it is
// told: it sees an /etc of its own, so that nothing is left on the host. Where such a
// mount is not permitted, as in a container, root runs without. The server goes with
// this process, also when that is killed: the shell, which is told of that, is the first
// process of a PID namespace. k3s itself would not be told: it executes itself anew from any
// thread, and the signal of a parent's death belongs to the thread that had it (prctl(2)).
func withOwnEtc(k3s, data string, arguments []string) (*exec.Cmd, error) {
	if os.Geteuid() != 0 {
		return asOwnRoot(k3s, data, arguments)
	}
	changes, work := filepath.Join(data, "etc"), filepath.Join(data, "etc-work")
	for _, folder := range []string{changes, work} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, fmt.Errorf("folder of k3s: %w", err)
		}
	}
	// Names without a folder: a comma or a colon in its path would end an option.
	mount := `(cd "$0" && mount -t overlay overlay -o lowerdir=/etc,upperdir=etc,workdir=etc-work /etc); "$@"; exit`
	command := exec.Command("/bin/sh", append([]string{"-c", mount, data, k3s}, arguments...)...)
	command.SysProcAttr = process.Bound(true)
	command.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID
	return command, nil
}

// asOwnRoot makes the command for who is not root: as root of a user namespace, which
// may write to none of the host's folders, with an /etc that has little but names.
func asOwnRoot(k3s, data string, arguments []string) (*exec.Cmd, error) {
	etc := filepath.Join(data, "etc")
	if err := os.MkdirAll(etc, 0o755); err != nil {
		return nil, fmt.Errorf("folder of k3s: %w", err)
	}
	for _, name := range []string{"hosts", "resolv.conf", "passwd", "group", "nsswitch.conf"} {
		text, err := os.ReadFile(filepath.Join("/etc", name))
		if err != nil {
			continue // it does without
		}
		if err := os.WriteFile(filepath.Join(etc, name), text, 0o644); err != nil {
			return nil, fmt.Errorf("folder of k3s: %w", err)
		}
	}
	command := exec.Command("/bin/sh", append([]string{"-c", `mount --bind "$0" /etc && "$@"; exit`, etc, k3s}, arguments...)...)
	command.SysProcAttr = process.Bound(true)
	command.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUSER
	command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
	command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	return command, nil
}
