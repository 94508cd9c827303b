package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/blockdev"
	"github.com/slipway-sh/slipway/internal/sandbox/fabric"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/metadata"
)

// fullDisk is the size of a disk that is made to be full: enough to boot.
const fullDisk = "size=12m"

// mountRoot mounts the root file system: an overlay on the image, or the file system of the volume.
// If it is mounted already, it stays: mounting the same upper folder twice breaks both mounts.
func (s *server) mountRoot(ctx context.Context) error {
	root := s.path("rootfs")
	for _, d := range []string{root, s.path("disk")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return fmt.Errorf("mounting root: %w", err)
		}
	}
	if mounted(root) {
		return nil
	}
	if s.Image == "" {
		return s.mountVolume(root)
	}
	lower, err := s.driver.images.mount(s.Image)
	if err != nil {
		return err
	}
	disk := s.path("disk")
	if s.trouble(faultinject.DiskFull) && !mounted(disk) {
		if err := unix.Mount("tmpfs", disk, "tmpfs", 0, fullDisk); err != nil {
			return fmt.Errorf("mounting a small disk: %w", err)
		}
	}
	upper, work := filepath.Join(disk, "upper"), filepath.Join(disk, "work")
	for _, d := range []string{upper, work} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return fmt.Errorf("mounting root: %w", err)
		}
	}
	return mountOverlay(root, lower, upper, work)
}

// mountOverlay mounts an overlay that does not pass syncs to the host, like a virtual machine with
// an unsafe cache: otherwise every member of etcd would wait for the only disk of the host. What a
// machine wrote outlives the machine and the sandbox, but not a power failure of the host.
func mountOverlay(root, lower, upper, work string) error {
	// Linux marks such an overlay and refuses to mount it again until somebody
	// has decided that it is whole (overlayfs.rst, "Volatile mount").
	if err := os.RemoveAll(filepath.Join(work, "work", "incompat")); err != nil {
		return fmt.Errorf("mounting root: %w", err)
	}
	options := "lowerdir=" + lower + ",upperdir=" + upper + ",workdir=" + work + ",volatile"
	if err := unix.Mount("overlay", root, "overlay", 0, options); err != nil {
		return fmt.Errorf("mounting root: overlay: %w", err)
	}
	return nil
}

func (s *server) mountVolume(root string) error {
	device, err := blockdev.Attach(s.driver.volumes.Path(s.Slots[0]))
	if err != nil {
		return err
	}
	if err := mountDisk(device.Path, root); err != nil {
		return fmt.Errorf("mounting volume %s as root: %w", s.Slots[0], err)
	}
	return nil
}

// mountDisk mounts the root file system of a block device, writable. A partition gets a device on
// top of the disk's device, so that what the machine reads from the whole disk is what it wrote.
func mountDisk(disk, root string) error {
	part, err := rootPart(disk)
	if err != nil {
		return err
	}
	if part != (blockdev.Part{}) {
		loop, device, err := blockdev.AttachWhileUsed(disk, part, false)
		if err != nil {
			return err
		}
		defer loop.Close() // the mount keeps it from here on
		disk = device.Path
	}
	for _, kind := range []string{"ext4", "xfs", "btrfs"} {
		if err = unix.Mount(disk, root, kind, 0, ""); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s is no file system that can be mounted: %w", place(part), err)
}

// prepare writes into the file system what a machine elsewhere finds out at its first boot. It uses
// os.Root, because links in an image must not lead to the host.
func (s *server) prepare() error {
	root, err := os.OpenRoot(s.path("rootfs"))
	if err != nil {
		return err
	}
	defer root.Close()
	name := s.hostname()
	files := map[string]string{
		"etc/hostname":   name + "\n",
		"etc/hosts":      s.hosts(name),
		"etc/machine-id": strings.ReplaceAll(s.Spec.ID, "-", "") + "\n",
	}
	if servers := s.nameservers(); servers != "" {
		files["etc/resolv.conf"] = servers
	}
	for file, text := range files {
		if err := put(root, file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	// cloud-init would wait a minute for an answer to DHCP; the addresses are
	// there already.
	for _, file := range []string{"usr/sbin/dhclient", "usr/sbin/dhcpcd", "usr/sbin/udhcpc"} {
		if err := root.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if !s.Spec.ConfigDrive {
		return nil
	}
	docs, err := metadata.Documents(s.Instance())
	if err != nil {
		return err
	}
	for file, content := range docs {
		if err := put(root, path.Join("var/lib/cloud/seed/config_drive", file), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func put(root *os.Root, file string, content []byte, mode os.FileMode) error {
	if err := root.MkdirAll(path.Dir(file), 0o755); err != nil {
		return err
	}
	if err := root.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return root.WriteFile(file, content, mode)
}

func (s *server) hosts(name string) string {
	text := "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
	for _, n := range s.NICs {
		for _, a := range n.Port.Addresses {
			return text + a.Prefix.Addr().String() + " " + name + "\n"
		}
	}
	return text + "127.0.1.1 " + name + "\n"
}

func (s *server) nameservers() string {
	var text strings.Builder
	seen := map[netip.Addr]bool{}
	for _, n := range s.NICs {
		for _, a := range n.Port.Addresses {
			for _, server := range a.Nameservers {
				if !seen[server] {
					fmt.Fprintf(&text, "nameserver %s\n", server)
				}
				seen[server] = true
			}
		}
	}
	if text.Len() == 0 {
		// Neutron's DHCP names itself where a subnet has no name servers, so
		// that no machine is without one: CoreDNS does not start without.
		return "nameserver " + fabric.MetadataAddress + "\n"
	}
	return text.String()
}

// Instance returns what the metadata service says about the machine.
func (s *server) Instance() metadata.Instance {
	i := metadata.Instance{ID: s.Spec.ID, Name: s.Spec.Name, ProjectID: s.Spec.ProjectID, Metadata: s.Spec.Metadata}
	i.Metadata.Hostname = s.hostname()
	for _, n := range s.NICs {
		i.Ports = append(i.Ports, n.Port)
		i.Names = append(i.Names, n.Name)
	}
	return i
}
