package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/blockdev"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

// byID returns the link that udev creates from the serial number of a virtio disk, which Nova sets
// to the first 20 characters of the volume's id; the Cinder CSI driver and the cloud provider look
// for it.
func byID(volumeID string) string { return "disk/by-id/virtio-" + machine.Serial(volumeID) }

// local returns the text that a disk of the machine's own has instead of the id of a volume.
func (s *server) local(i int) string { return fmt.Sprintf("%s-local-%d", s.Spec.ID, i) }

// link returns the link that udev creates for a volume: by its serial number or, for a disk that
// has none, by its address on the bus.
func (s *server) link(volumeID string) string {
	for i, disk := range s.Spec.Local {
		if volumeID == s.local(i) {
			return "disk/by-path/pci-" + disk.Address
		}
	}
	return byID(volumeID)
}

func detach(file string) error { return blockdev.Detach(file) }

// showVolumes creates the devices of all volumes in the machine.
func (s *server) showVolumes(ctx context.Context) error {
	for i, id := range s.Slots {
		if id == "" || id == rootSlot {
			continue
		}
		if err := s.show(ctx, i, id); err != nil {
			return fmt.Errorf("attaching volume %s: %w", id, err)
		}
	}
	return nil
}

// show creates the block device of a volume and its node in the machine's /dev. The machine has no
// udev, so nothing else creates nodes there.
func (s *server) show(ctx context.Context, slot int, volumeID string) error {
	device, err := blockdev.Attach(s.driver.volumes.Path(volumeID))
	if err != nil {
		return err
	}
	dev, err := s.dev(ctx)
	if err != nil || dev == nil {
		return err
	}
	defer dev.Close()
	name := machine.DeviceName(slot)
	if err := hide(dev, name, s.link(volumeID)); err != nil {
		return err
	}
	folder, err := dev.Open(".")
	if err != nil {
		return err
	}
	defer folder.Close()
	number := int(unix.Mkdev(device.Major, device.Minor))
	if err := unix.Mknodat(int(folder.Fd()), name, unix.S_IFBLK|0o660, number); err != nil {
		return fmt.Errorf("making /dev/%s: %w", name, err)
	}
	link := s.link(volumeID)
	if err := dev.MkdirAll(path.Dir(link), 0o755); err != nil {
		return err
	}
	return dev.Symlink("../../"+name, link)
}

func hide(dev *os.Root, files ...string) error {
	for _, file := range files {
		if err := dev.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// dev returns the machine's /dev, or nil when the machine does not run.
func (s *server) dev(ctx context.Context) (*os.Root, error) {
	state, pid, err := s.driver.runc.state(ctx, s.Spec.ID)
	if err != nil || state != machine.Running {
		return nil, err
	}
	// Step by step, because a machine may make its /dev a link to a folder of the host.
	root, err := os.OpenRoot(fmt.Sprintf("/proc/%d/root", pid))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenRoot("dev")
}

// AttachVolume gives the volume the next free device name; a machine that does not run sees it at
// its next start.
func (d *Driver) AttachVolume(ctx context.Context, id, volumeID string) (string, error) {
	defer d.Lock(id)()
	s, err := d.Load(id)
	if err != nil {
		return "", fmt.Errorf("attaching volume %s to server %s: %w", volumeID, id, err)
	}
	slot, err := s.Slots.Take(volumeID)
	if err == nil {
		err = s.save()
	}
	if err == nil {
		err = s.show(ctx, slot, volumeID)
	}
	if err != nil {
		return "", fmt.Errorf("attaching volume %s to server %s: %w", volumeID, id, err)
	}
	return "/dev/" + machine.DeviceName(slot), nil
}

// DetachVolume removes the device. It fails while the machine has the volume mounted, and can be
// retried: a volume mounted on two machines would be destroyed.
func (d *Driver) DetachVolume(ctx context.Context, id, volumeID string) error {
	defer d.Lock(id)()
	s, err := d.Load(id)
	if err == nil {
		err = s.take(ctx, volumeID)
	}
	if err := ignoreMissing(err); err != nil {
		return fmt.Errorf("detaching volume %s from server %s: %w", volumeID, id, err)
	}
	return nil
}

func (s *server) take(ctx context.Context, volumeID string) error {
	slot := slices.Index(s.Slots, volumeID)
	if slot < 0 {
		return nil
	}
	if err := ignoreMissing(detach(s.driver.volumes.Path(volumeID))); err != nil {
		return err
	}
	dev, err := s.dev(ctx)
	if err != nil {
		return err
	}
	if dev != nil {
		defer dev.Close()
		if err := hide(dev, machine.DeviceName(slot), s.link(volumeID)); err != nil {
			return err
		}
	}
	s.Slots.Free(volumeID)
	return s.save()
}
