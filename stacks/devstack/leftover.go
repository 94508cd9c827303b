package devstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
)

// process is one of /proc.
type process struct {
	id, parent int
	// program is the path of the running file; empty if the process has other mounts than
	// ours, because the path is another file then.
	program string
}

// processes are all that can be read below a /proc.
func processes(proc string) ([]process, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	own, _ := os.Readlink(filepath.Join(proc, "self/ns/mnt"))
	var all []process
	for _, entry := range entries {
		id, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(proc, entry.Name(), "stat"))
		if err != nil {
			continue // it ended
		}
		// The name in parentheses may contain anything; the parent is the second field after it.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 {
			continue
		}
		parent, _ := strconv.Atoi(string(fields[1]))
		program, _ := os.Readlink(filepath.Join(proc, entry.Name(), "exe"))
		if mounts, _ := os.Readlink(filepath.Join(proc, entry.Name(), "ns/mnt")); mounts != own {
			program = "" // such as k3s in a container of somebody else
		}
		all = append(all, process{id, parent, program})
	}
	return all, nil
}

// unpacked is where k3s takes its programs from, in place of its data folder, on a host on which
// some k3s unpacked the same ones before. Two k3s cannot run there at once.
const unpacked = "/var/lib/rancher/k3s/data"

// below are the processes that run a program of the folders, and all that they started:
// children after their parents.
func below(all []process, dirs ...string) []int {
	var ours []int
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			mine := slices.Contains(ours, p.parent) || slices.ContainsFunc(dirs, func(dir string) bool {
				return strings.HasPrefix(p.program, strings.TrimSuffix(dir, "/")+"/")
			})
			if mine && !slices.Contains(ours, p.id) {
				ours, grown = append(ours, p.id), true
			}
		}
	}
	return ours
}

// killTime is how long killed processes may take to end.
const killTime = 30 * time.Second

// Sweep ends what a stopped k3s left running: systemd stops only its main process
// (KillMode=process of devstack's units), so containers and their shims continue. It
// unmounts what they had mounted, and removes their bridge and the chains of iptables. dir is
// the plugin's folder; proc is /proc.
func Sweep(ctx context.Context, run Runner, dir, proc string) error {
	return sweep(ctx, run, dir, proc, unpacked)
}

func sweep(ctx context.Context, run Runner, dir, proc, unpacked string) error {
	k3s := filepath.Join(dir, k3sFolder)
	if _, err := os.Stat(k3s); errors.Is(err, os.ErrNotExist) {
		return nil // it never ran here
	}
	deadline := time.Now().Add(killTime)
	for {
		all, err := processes(proc)
		if err != nil {
			return err
		}
		ids := below(all, k3s, unpacked)
		if len(ids) == 0 {
			break
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("ending containers of k3s: processes %v are still there", ids)
		}
		for _, id := range ids {
			_ = syscall.Kill(id, syscall.SIGKILL) // it may have ended
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Join(unmount(ctx, run, k3s, proc), unlink(ctx, run), unchain(ctx, run))
}

// unmount unmounts what is mounted for containers, the deepest first.
func unmount(ctx context.Context, run Runner, k3s, proc string) error {
	text, err := os.ReadFile(filepath.Join(proc, "self/mounts"))
	if err != nil {
		return fmt.Errorf("listing mounts: %w", err)
	}
	var points []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		for _, prefix := range []string{k3s + "/", "/run/k3s/", "/var/lib/kubelet/pods/", "/run/netns/cni-"} {
			if strings.HasPrefix(fields[1], prefix) {
				points = append(points, fields[1])
				break
			}
		}
	}
	slices.Sort(points)
	slices.Reverse(points)
	var failed []error
	for _, point := range points {
		if _, err := run(ctx, "umount", "-l", point); err != nil {
			failed = append(failed, fmt.Errorf("unmounting %s: %w", point, err))
		}
	}
	return errors.Join(failed...)
}

// unlink removes the bridge of k3s' pods, if it is there; pods' own interfaces went with
// their namespaces.
func unlink(ctx context.Context, run Runner) error {
	if _, err := run(ctx, "ip", "link", "show", "cni0"); err != nil {
		return nil
	}
	if _, err := run(ctx, "ip", "link", "delete", "cni0"); err != nil {
		return fmt.Errorf("removing the bridge of pods: %w", err)
	}
	return nil
}

// elsewhere is what k3s writes outside of its data folder, whatever it is told.
func elsewhere() []string {
	return []string{"/etc/rancher/node", "/etc/rancher/k3s/k3s.yaml", "/run/k3s", "/run/flannel", "/var/lib/cni/networks/cbr0", "/var/lib/kubelet"}
}

// marker is the file by which Clean knows a folder of the plugin's.
const marker = ".slipway-devstack"

// Mark makes the plugin's folder, which only its owner may enter.
func (s Settings) Mark() error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("making the plugin's folder: %w", err)
	}
	if err := os.Chmod(s.Dir, 0o700); err != nil {
		return fmt.Errorf("making the plugin's folder: %w", err)
	}
	return s.Write(marker, "slipway devstack clean removes this folder\n")
}

// Clean removes what the plugin left on the host: processes, mounts, rules, files. Another
// folder than the plugin's is not removed.
func Clean(ctx context.Context, run Runner, dir, proc string) error {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return Shut(ctx, run)
	}
	if _, err := os.Stat(filepath.Join(dir, marker)); err != nil {
		return fault.Usage(dir, fmt.Errorf("this is no folder of the plugin: %w", err), "give the value of SLIPWAY_DIR, or remove the folder yourself")
	}
	_, noK3s := os.Stat(filepath.Join(dir, k3sFolder))
	if err := errors.Join(Sweep(ctx, run, dir, proc), Shut(ctx, run)); err != nil {
		return err
	}
	if noK3s == nil {
		if _, err := run(ctx, "rm", append([]string{"-rf", "--one-file-system"}, elsewhere()...)...); err != nil {
			return fmt.Errorf("removing what k3s wrote elsewhere: %w", err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing %s: %w", dir, err)
	}
	return nil
}
