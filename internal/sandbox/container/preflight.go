package container

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/site"
)

// Missing checks rights and kernel features, and returns those that are missing. It changes
// nothing, except that it loads kernel modules that are needed.
func Missing(o Options) []site.Lack {
	if lacks := site.Root(); len(lacks) > 0 {
		return lacks
	}
	var all []site.Lack
	add := func(ok bool, l site.Lack) {
		if !ok {
			all = append(all, l)
		}
	}
	caps, _ := boundingSet()
	has := strings.Join(caps, " ")
	for _, name := range []string{"CAP_SYS_ADMIN", "CAP_NET_ADMIN", "CAP_MKNOD"} {
		add(strings.Contains(has, name), site.Lack{What: name, Without: site.NoMachines, Fatal: true,
			Remedy: "Run outside of a container, or in a privileged one."})
	}
	add(strings.Contains(has, "CAP_SYS_RESOURCE"), resources(engine("/")))
	_, err := exec.LookPath(cmp.Or(o.Runc, "runc"))
	add(err == nil, site.Lack{What: "the OCI runtime runc", Without: site.NoMachines, Remedy: "Use a bundle, which has it, or install runc.", Fatal: true})
	all = append(all, missingKernel()...)
	return append(all, missingFolder(o.Dir)...)
}

// resources returns the lack of CAP_SYS_RESOURCE. Environments, clusters and their upgrades work
// without it: machines rarely need it.
func resources(in string) site.Lack {
	l := site.Lack{What: "CAP_SYS_RESOURCE",
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

// engine returns what runs the container that root is in, by systemd's names: "docker", "podman",
// "lxc", "systemd-nspawn"; "" if no known one does.
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

// missingKernel checks file systems, devices and cgroups.
func missingKernel() []site.Lack {
	var all []site.Lack
	known, _ := os.ReadFile("/proc/filesystems")
	for _, fs := range []string{"overlay", "ext4"} {
		if !strings.Contains(string(known), "\t"+fs+"\n") && !site.Modprobe(fs) {
			all = append(all, site.Lack{What: "the file system " + fs, Without: site.NoMachines, Remedy: site.LoadModule(fs), Fatal: true})
		}
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil && !site.Modprobe("loop") {
		all = append(all, site.Lack{What: "loop devices", Without: site.NoMachines, Remedy: site.LoadModule("loop"), Fatal: true})
	}
	if _, err := os.Stat("/dev/ptmx"); err != nil {
		all = append(all, site.Lack{What: "/dev/ptmx", Without: site.NoMachines, Remedy: "Mount devpts.", Fatal: true})
	}
	if found, _ := filepath.Glob("/sys/fs/cgroup/*"); len(found) == 0 {
		all = append(all, site.Lack{What: "cgroups", Without: site.NoMachines, Remedy: "Mount them at /sys/fs/cgroup.", Fatal: true})
	}
	return all
}

// missingFolder tries in the folder what machines need there, and a network namespace.
func missingFolder(dir string) []site.Lack {
	try, all := site.TryFolder(dir)
	if try == "" {
		return all
	}
	defer os.RemoveAll(try)
	if err := tryOverlay(try); err != nil {
		all = append(all, site.Lack{What: fmt.Sprintf("a file system at %s that can be the upper layer of an overlay (%v)", dir, err),
			Without: site.NoMachines, Remedy: "Choose a folder on ext4, xfs or btrfs.", Fatal: true})
	}
	return append(all, site.MissingNetworks(try)...)
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
