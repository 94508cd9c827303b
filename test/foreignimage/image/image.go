// Package image makes a cloud image of Debian's packages as others publish them: systemd,
// cloud-init and an SSH server, and nothing of Slipway's. A container of the sandbox boots
// it. It has no kernel and no boot loader, so no hypervisor does.
package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Options say what to make.
type Options struct {
	// File is the image: an ext4 file system without partitions.
	File string
	// Suite and Mirror are of Debian; empty means bookworm from deb.debian.org.
	Suite, Mirror string
	// Packages are installed besides Packages().
	Packages []string
	// Spare is how many bytes are left free; 0 means 256 MiB. A container's
	// disk is the host's, whatever its size.
	Spare int64
	// Limit bounds the whole; 0 means 20 minutes.
	Limit time.Duration
}

// Packages are those of the image.
func Packages() []string {
	return strings.Fields("systemd systemd-sysv dbus libpam-systemd udev cloud-init cloud-guest-utils openssh-server sudo ca-certificates " +
		"iproute2 kmod mount util-linux e2fsprogs procps")
}

// limit is the longest that Build takes unless Options say otherwise. On a quiet machine
// near a mirror it is a minute; beside other work on two processors it was eight.
const limit = 20 * time.Minute

// Build makes the image. It needs root, mmdebstrap, mke2fs and Debian's archive. What it
// leaves when it fails or is interrupted is removed.
func Build(ctx context.Context, o Options) error {
	if os.Geteuid() != 0 {
		return errors.New("making an image needs root: the files in it belong to root")
	}
	ctx, cancel := context.WithTimeout(ctx, max(o.Limit, 0)+map[bool]time.Duration{true: limit}[o.Limit == 0])
	defer cancel()
	dir, err := os.MkdirTemp(filepath.Dir(o.File), "image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	root := filepath.Join(dir, "root")
	if err := o.install(ctx, root); err != nil {
		return err
	}
	for name, text := range settings() {
		if err := put(root, name, text); err != nil {
			return err
		}
	}
	return o.write(ctx, root)
}

// Unpack writes the files of an image into a folder, which is made.
func Unpack(ctx context.Context, file, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := run(ctx, "debugfs", "-R", "rdump / "+folder, file); err != nil { // succeeds whatever it does
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, "usr/sbin/sshd")); err != nil {
		return err
	}
	// debugfs sets owners after modes, which takes away the bit by which sudo is root.
	return os.Chmod(filepath.Join(folder, "usr/bin/sudo"), 0o755|os.ModeSetuid)
}

func (o Options) install(ctx context.Context, root string) error {
	suite := o.Suite
	if suite == "" {
		suite = "bookworm"
	}
	args := []string{"--mode=root", "--variant=minbase", "--format=directory", "--skip=output/dev", "--include=" + strings.Join(append(Packages(), o.Packages...), ","),
		"--aptopt=Acquire::Retries \"3\"", "--aptopt=Acquire::Languages \"none\"", "--dpkgopt=force-unsafe-io", "--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*", suite, root}
	if o.Mirror != "" {
		args = append(args, o.Mirror)
	}
	return run(ctx, "mmdebstrap", args...)
}

// settings are those of a published cloud image, and of a machine that is a container:
// the devices, links and the clock of which are the host's.
func settings() map[string]string {
	files := map[string]string{
		"etc/machine-id": "", "etc/hostname": "",
		"etc/cloud/cloud.cfg.d/90_datasource.cfg": "datasource_list: [ConfigDrive, OpenStack, None]\ndatasource:\n  OpenStack: {max_wait: 30, timeout: 5, retries: 3}\n" +
			"apt: {preserve_sources_list: true}\ngrub_dpkg: {enabled: false}\nlocale: C.UTF-8\n",
	}
	for unit := range strings.FieldsSeq("systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-udev-trigger.service " +
		"systemd-networkd.service systemd-networkd.socket systemd-networkd-wait-online.service systemd-modules-load.service systemd-sysctl.service " +
		"getty@.service console-getty.service apt-daily.timer apt-daily-upgrade.timer e2scrub_reap.service") {
		files["etc/systemd/system/"+unit+".d/container.conf"] = "[Unit]\nConditionVirtualization=!container\n"
	}
	return files
}

func put(root, name, text string) error {
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// write makes a file system of the folder, without host keys: each machine has its own.
func (o Options) write(ctx context.Context, root string) error {
	keys, err := filepath.Glob(filepath.Join(root, "etc/ssh/ssh_host_*"))
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := os.Remove(key); err != nil {
			return err
		}
	}
	size, err := sizeOf(root)
	if err != nil {
		return err
	}
	if o.Spare == 0 {
		o.Spare = 256 << 20
	}
	const mib = 1 << 20
	size = (size + size/10 + 64*mib + o.Spare) / mib
	half := o.File + ".half"
	defer os.Remove(half)
	if err := run(ctx, "mke2fs", "-q", "-F", "-t", "ext4", "-L", "cloudimg-rootfs", "-E", "nodiscard,lazy_itable_init=1", "-d", root, half, fmt.Sprintf("%dM", size)); err != nil {
		return err
	}
	return os.Rename(half, o.File)
}

func sizeOf(root string) (size int64, err error) {
	err = filepath.Walk(root, func(_ string, info os.FileInfo, err error) error {
		if err == nil {
			size += (info.Size() + 8191) / 4096 * 4096
		}
		return err
	})
	return size, err
}

// run runs a program, and ends it with its children when the context ends.
func run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", name, context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out[max(0, len(out)-3000):])
	}
	return nil
}
