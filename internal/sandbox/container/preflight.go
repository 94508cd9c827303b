package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// Lack is something that the host does not have.
type Lack struct {
	// What is missing, Without what does not work without it, and Remedy what
	// to do.
	What, Without, Remedy string
	// Fatal says that no machine can run.
	Fatal bool
}

const none = "Machines cannot run; with --driver none all APIs work and servers become ACTIVE without a machine."

// Missing looks at rights and kernel features, and returns what is not there.
// It changes nothing but to load kernel modules that are needed.
func Missing(o Options) []Lack {
	if os.Geteuid() != 0 {
		return []Lack{{What: "root rights", Without: none, Remedy: "Run it with sudo, or choose --driver none.", Fatal: true}}
	}
	var all []Lack
	add := func(ok bool, l Lack) {
		if !ok {
			all = append(all, l)
		}
	}
	caps, _ := boundingSet()
	has := strings.Join(caps, " ")
	for _, name := range []string{"CAP_SYS_ADMIN", "CAP_NET_ADMIN", "CAP_MKNOD"} {
		add(strings.Contains(has, name), Lack{What: name, Without: none, Fatal: true,
			Remedy: "Run outside of a container, or in a privileged one."})
	}
	add(strings.Contains(has, "CAP_SYS_RESOURCE"), resources(engine("/")))
	_, err := exec.LookPath(cmp.Or(o.Runc, "runc"))
	add(err == nil, Lack{What: "the OCI runtime runc", Without: none, Remedy: "Use a bundle, which has it, or install runc.", Fatal: true})
	all = append(all, missingKernel()...)
	return append(all, missingFolder(o.Dir)...)
}

// resources is the lack of CAP_SYS_RESOURCE. Environments, clusters and their
// upgrades work without it: what needs it is a rare thing in a machine.
func resources(in string) Lack {
	l := Lack{What: "CAP_SYS_RESOURCE",
		Without: "Machines and clusters work all the same, but no machine can grow a mounted ext4 file system, or lower the OOM score of a process."}
	switch in {
	case "docker", "podman":
		l.Remedy = "If you need that, start this container with --cap-add SYS_RESOURCE."
	case "lxc":
		l.Remedy = "If you need that, remove sys_resource from lxc.cap.drop of this container."
	case "":
		l.Remedy = "If you need that, start the sandbox from a login shell of this machine, or give the service that starts it CAP_SYS_RESOURCE in CapabilityBoundingSet."
	default:
		l.Remedy = "If you need that, give this container (" + in + ") the capability."
	}
	return l
}

// engine is what runs the container that root is in, as systemd names it:
// "docker", "podman", "lxc", "systemd-nspawn"; "" is none that is known.
func engine(root string) string {
	if name, err := os.ReadFile(filepath.Join(root, "run/systemd/container")); err == nil {
		return strings.TrimSpace(string(name))
	}
	for file, name := range map[string]string{".dockerenv": "docker", "run/.containerenv": "podman"} {
		if _, err := os.Stat(filepath.Join(root, file)); err == nil {
			return name
		}
	}
	return ""
}

// missingKernel looks for file systems, devices, cgroups and bridge filters.
func missingKernel() []Lack {
	load := "Load it (modprobe %s) or use a kernel that has it."
	var all []Lack
	known, _ := os.ReadFile("/proc/filesystems")
	for _, fs := range []string{"overlay", "ext4"} {
		if !strings.Contains(string(known), "\t"+fs+"\n") && !modprobe(fs) {
			all = append(all, Lack{What: "the file system " + fs, Without: none, Remedy: fmt.Sprintf(load, fs), Fatal: true})
		}
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil && !modprobe("loop") {
		all = append(all, Lack{What: "loop devices", Without: none, Remedy: fmt.Sprintf(load, "loop"), Fatal: true})
	}
	if _, err := os.Stat("/dev/ptmx"); err != nil {
		all = append(all, Lack{What: "/dev/ptmx", Without: none, Remedy: "Mount devpts.", Fatal: true})
	}
	if found, _ := filepath.Glob("/sys/fs/cgroup/*"); len(found) == 0 {
		all = append(all, Lack{What: "cgroups", Without: none, Remedy: "Mount them at /sys/fs/cgroup.", Fatal: true})
	}
	if _, err := os.Stat("/proc/sys/net/bridge/bridge-nf-call-iptables"); err != nil && !modprobe("br_netfilter") {
		all = append(all, Lack{What: "br_netfilter", Without: "Security groups let everything through; the rest works.",
			Remedy: fmt.Sprintf(load, "br_netfilter")})
	}
	return all
}

// modprobe loads a module, and tells whether it could.
func modprobe(name string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, "modprobe", name).Run() == nil
}

// missingFolder tries in the folder what machines need of it, and a network
// namespace.
func missingFolder(dir string) []Lack {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return []Lack{{What: "the folder " + dir, Without: none, Remedy: err.Error(), Fatal: true}}
	}
	try, err := os.MkdirTemp(dir, "try-")
	if err != nil {
		return []Lack{{What: "the folder " + dir, Without: none, Remedy: err.Error(), Fatal: true}}
	}
	defer os.RemoveAll(try)
	var all []Lack
	if err := tryOverlay(try); err != nil {
		all = append(all, Lack{What: fmt.Sprintf("a file system at %s that can be the upper layer of an overlay (%v)", dir, err),
			Without: none, Remedy: "Choose a folder on ext4, xfs or btrfs.", Fatal: true})
	}
	space := filepath.Join(try, "space")
	if err := errors.Join(namespace.Create(space), namespace.Delete(space)); err != nil {
		all = append(all, Lack{What: fmt.Sprintf("network namespaces (%v)", err), Without: none,
			Remedy: "Run outside of a container, or in a privileged one.", Fatal: true})
	}
	return all
}

func tryOverlay(dir string) error {
	paths := map[string]string{}
	for _, name := range []string{"lower", "upper", "work", "root"} {
		paths[name] = filepath.Join(dir, name)
		if err := os.Mkdir(paths[name], 0o700); err != nil {
			return err
		}
	}
	if err := mountOverlay(paths["root"], paths["lower"], paths["upper"], paths["work"]); err != nil {
		return err
	}
	return unix.Unmount(paths["root"], 0)
}
