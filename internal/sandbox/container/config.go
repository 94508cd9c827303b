package container

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

// realFolders must not be on an overlay: container runtimes mount overlays of their own there, and
// logs outlive it.
var realFolders = []string{"/var/lib/containerd", "/var/lib/kubelet", "/var/lib/rancher", "/var/log"}

// config writes the OCI configuration of a machine.
func (s *server) config() error {
	spec, err := s.spec()
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(spec, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(s.path("config.json"), data, 0o600)
}

func (s *server) spec() (*specs.Spec, error) {
	caps, err := boundingSet()
	if err != nil {
		return nil, err
	}
	mounts, err := s.mounts()
	if err != nil {
		return nil, err
	}
	linux, err := s.linux()
	if err != nil {
		return nil, err
	}
	return &specs.Spec{
		Version:  specs.Version,
		Hostname: s.hostname(),
		Root:     &specs.Root{Path: s.path("rootfs")},
		Mounts:   mounts,
		Process: &specs.Process{
			Args: s.command(), Cwd: "/",
			Env: []string{
				"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
				"container=oci", // systemd: "The Container Interface"
				// cloud-init looks here for the platform where there is no DMI.
				"product_name=OpenStack Nova",
			},
			Capabilities: &specs.LinuxCapabilities{Bounding: caps, Effective: caps, Permitted: caps},
		},
		Linux: linux,
	}, nil
}

func (s *server) command() []string {
	if slices.Contains(s.Spec.Trouble, string(faultinject.NoBoot)) {
		return []string{"/bin/sh", "-c", "echo 'Kernel panic - not syncing: VFS: Unable to mount root fs'; exec sleep infinity"}
	}
	return []string{"/sbin/init", "--log-target=journal"}
}

func (s *server) linux() (*specs.Linux, error) {
	var namespaces []specs.LinuxNamespace
	for _, t := range []specs.LinuxNamespaceType{specs.PIDNamespace, specs.IPCNamespace, specs.UTSNamespace,
		specs.MountNamespace, specs.CgroupNamespace} {
		namespaces = append(namespaces, specs.LinuxNamespace{Type: t})
	}
	namespaces = append(namespaces, specs.LinuxNamespace{Type: specs.NetworkNamespace, Path: s.space()})
	resources, err := s.resources()
	if err != nil {
		return nil, err
	}
	mode := os.FileMode(0o666)
	return &specs.Linux{
		Namespaces: namespaces,
		// Volumes that kubelet mounts must appear in pods.
		RootfsPropagation: "shared",
		// Flat, so that nothing is left in the host's tree when it is removed.
		CgroupsPath: "/slipway-" + s.driver.Tag + "-" + s.Spec.ID,
		Resources:   resources,
		Devices:     []specs.LinuxDevice{{Path: "/dev/fuse", Type: "c", Major: 10, Minor: 229, FileMode: &mode}},
		// Settings of the host's kernel: what is not of a namespace is not the
		// machine's to change.
		ReadonlyPaths: []string{"/proc/sys/fs", "/proc/sys/kernel", "/proc/sys/vm", "/proc/sysrq-trigger"},
	}, nil
}

// resources returns the limits of the flavor. All devices are allowed, because pods that may use
// all of them need a machine that may.
func (s *server) resources() (*specs.LinuxResources, error) {
	r := &specs.LinuxResources{Devices: []specs.LinuxDeviceCgroup{{Allow: true, Access: "rwm"}}}
	if n := s.Spec.VCPUs; n > 0 {
		period := uint64(100_000)
		quota := int64(n) * int64(period)
		shares := uint64(n) * 1024
		r.CPU = &specs.LinuxCPU{Period: &period, Quota: &quota, Shares: &shares}
	}
	if n := s.Spec.MemoryMiB; n > 0 {
		limit := int64(n) << 20
		r.Memory = &specs.LinuxMemory{Limit: &limit}
	}
	if !s.trouble(faultinject.SlowDisk) {
		return r, nil
	}
	var err error
	r.BlockIO, err = throttle(s.driver.Dir)
	return r, err
}

func (s *server) mounts() ([]specs.Mount, error) {
	mounts := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc"},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts",
			Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "noexec", "nodev", "mode=1777", "size=64m"}},
		{Destination: "/dev/mqueue", Type: "mqueue", Source: "mqueue", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "rw"}},
		// runc mounts the version that the host has.
		{Destination: "/sys/fs/cgroup", Type: "cgroup", Source: "cgroup", Options: []string{"nosuid", "noexec", "nodev", "relatime", "rw"}},
		{Destination: "/run", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "nodev", "mode=755"}},
		{Destination: "/tmp", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "nodev", "mode=1777"}},
		{Destination: "/dev/console", Type: "bind", Source: s.Console.TTY, Options: []string{"bind", "rw"}},
	}
	// kubelet reads kills for want of memory there.
	for _, path := range []string{"/dev/kmsg", "/lib/modules"} {
		if _, err := os.Stat(path); err == nil {
			mode := map[bool]string{true: "ro", false: "rw"}[path == "/lib/modules"]
			mounts = append(mounts, specs.Mount{Destination: path, Type: "bind", Source: path, Options: []string{"rbind", mode}})
		}
	}
	for _, folder := range realFolders {
		source := s.path(filepath.Join("data", folder))
		if err := os.MkdirAll(source, 0o755); err != nil {
			return nil, err
		}
		mounts = append(mounts, specs.Mount{Destination: folder, Type: "bind", Source: source, Options: []string{"rbind", "rw"}})
	}
	return mounts, nil
}

// boundingSet returns the names of the capabilities that this process can pass on; in a container,
// some are missing.
func boundingSet() ([]string, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(status), "CapBnd:\t")
	hex, _, _ := strings.Cut(rest, "\n")
	set, err := strconv.ParseUint(hex, 16, 64)
	if err != nil {
		return nil, fmt.Errorf("reading the capability bounding set: %w", err)
	}
	var names []string
	for ; set != 0; set &= set - 1 {
		if i := bits.TrailingZeros64(set); i < len(capabilities) {
			names = append(names, "CAP_"+strings.ToUpper(capabilities[i]))
		}
	}
	return names, nil
}

// capabilities are the capabilities of Linux by number (linux/capability.h).
var capabilities = strings.Fields(`chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap
	linux_immutable net_bind_service net_broadcast net_admin net_raw ipc_lock ipc_owner sys_module sys_rawio
	sys_chroot sys_ptrace sys_pacct sys_admin sys_boot sys_nice sys_resource sys_time sys_tty_config mknod lease
	audit_write audit_control setfcap mac_override mac_admin syslog wake_alarm block_suspend audit_read perfmon bpf
	checkpoint_restore`)
