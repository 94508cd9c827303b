package qemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/slipway-sh/slipway/internal/bootdisk"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/metadata"
)

const gib = 1 << 30

// bootFile is the disk that the machine boots from: an image, or a volume.
func (s *server) bootFile() string {
	if s.Image != "" {
		return s.driver.images.File(s.Image)
	}
	return s.driver.site.Disks.Path(s.Slots[0])
}

// check refuses a disk that the firmware would not boot, and an image that is larger
// than the flavor's disk: Nova would start such a machine, and it would say nothing.
func (s *server) check() error {
	disk, err := os.Open(s.bootFile())
	if err != nil {
		return fmt.Errorf("looking at the disk: %w", err)
	}
	defer disk.Close()
	size, err := disk.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("looking at the disk: %w", err)
	}
	if limit := int64(s.Spec.DiskGiB) * gib; s.Image != "" && limit > 0 && size > limit {
		return &machine.Refusal{Reason: fmt.Sprintf("The image is larger (%d bytes) than the flavor's disk of %d GiB.", size, s.Spec.DiskGiB)}
	}
	err = bootdisk.ReadLoaders(disk, size).Missing(s.Spec.UEFI)
	if err == nil {
		return nil
	}
	firmware, fix := "BIOS", "set its property hw_firmware_type to uefi if it boots by that, or use another image"
	if s.Spec.UEFI {
		firmware, fix = "UEFI", "remove its property hw_firmware_type if it boots by BIOS, or use another image"
	}
	if errors.Is(err, bootdisk.ErrOtherProcessor) {
		fix = "use the image for x86_64"
	}
	return &machine.Refusal{Reason: fmt.Sprintf("The image does not boot by %s: %v; %s.", firmware, err, fix)}
}

// makeDisks makes the machine's own disk upon the image, unless it is there, and the
// configuration drive, which every virtual machine has: there is no DHCP server.
func (s *server) makeDisks(ctx context.Context, h host) error {
	if s.Image != "" {
		if err := s.makeRoot(ctx, h); err != nil {
			return err
		}
	}
	documents, err := metadata.Documents(s.Instance())
	if err != nil {
		return err
	}
	return h.tools.ConfigDrive(ctx, s.path("config.iso"), documents)
}

func (s *server) makeRoot(ctx context.Context, h host) error {
	file := s.path("root.qcow2")
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	image := s.bootFile()
	st, err := os.Stat(image)
	if err != nil {
		return fmt.Errorf("looking at the image: %w", err)
	}
	size := st.Size()
	if !s.trouble(faultinject.DiskFull) { // such a disk has no more than the image
		size = max(size, int64(s.Spec.DiskGiB)*gib)
	}
	part := file + ".part"
	if err := h.tools.Overlay(ctx, part, image, "raw", size); err != nil {
		return err
	}
	return os.Rename(part, file)
}

// Snapshot reads the machine's own disk, which stands still meanwhile.
func (d *Driver) Snapshot(ctx context.Context, id string) (io.ReadCloser, error) {
	var disk *os.File
	err := d.With(ctx, "reading the disk of", id, func(s *server) error {
		var err error
		disk, err = s.snapshot(ctx)
		return err
	})
	return disk, err
}

func (s *server) snapshot(ctx context.Context) (*os.File, error) {
	if s.Image == "" {
		return nil, errors.New("it boots from a volume: make a snapshot of that")
	}
	h, err := s.driver.prepare(ctx)
	if err != nil {
		return nil, err
	}
	if s.Process.Runs() {
		goOn, err := s.halt(ctx)
		if err != nil {
			return nil, err
		}
		defer goOn()
	}
	file := s.path("snapshot.raw")
	_ = os.Remove(file)   // one to which a qemu-img still writes whose process was killed
	defer os.Remove(file) // its bytes stay for as long as it is open; half a disk, as of a full host, does not
	if err := h.tools.Flatten(ctx, s.path("root.qcow2"), file); err != nil {
		return nil, err
	}
	return os.Open(file)
}

// halt lets a machine stand still, with all that it has written in its files, until
// the returned function is called. One that its owner has paused stays so; one that a
// process halted which was killed meanwhile does not.
func (s *server) halt(ctx context.Context) (goOn func(), err error) {
	m, err := s.monitor(ctx)
	if err != nil {
		return nil, err
	}
	goOn = func() {
		if s.Halted && m.Run(context.WithoutCancel(ctx), "cont", nil) == nil { // one that has ended meanwhile is found out by State
			s.Halted = false
			_ = s.save() // else it is told to continue once more, after the next snapshot
		}
		m.Close()
	}
	var status struct{ Running bool }
	if err = m.Query(ctx, "query-status", &status); err == nil && status.Running {
		s.Halted = true
		if err = s.save(); err == nil {
			err = m.Run(ctx, "stop", nil)
		}
	}
	if err != nil {
		goOn()
		return nil, err
	}
	return goOn, nil
}
