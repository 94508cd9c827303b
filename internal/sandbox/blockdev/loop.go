// Package blockdev keeps volumes as sparse files and makes block devices of
// them.
package blockdev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// loopMajor is the major number of loop devices (Linux' devices.txt).
const loopMajor = 7

// Device is a loop device.
type Device struct {
	Path         string
	Major, Minor uint32
}

func device(number int) Device {
	return Device{Path: fmt.Sprintf("/dev/loop%d", number), Major: loopMajor, Minor: uint32(number)}
}

// Attach makes a block device of a file and returns it. A file that has a device already keeps it:
// two devices on one file would each have a cache of their own.
func Attach(file string) (Device, error) {
	d, found, err := Find(file)
	if err != nil || found {
		return d, err
	}
	f, d, err := configure(file, Part{}, 0)
	if err != nil {
		return Device{}, err
	}
	return d, f.Close()
}

// Part is a range of a file or a device, in bytes; the zero value is all of it, a length of 0 is
// everything from the offset on.
type Part struct{ Offset, Length int64 }

// AttachWhileUsed makes a block device of a part of a file or of another block device. It ends by
// itself when nothing has it open or mounted: close the returned file once something else has.
func AttachWhileUsed(file string, part Part, readOnly bool) (*os.File, Device, error) {
	flags := uint32(unix.LO_FLAGS_AUTOCLEAR)
	if readOnly {
		flags |= unix.LO_FLAGS_READ_ONLY
	}
	return configure(file, part, flags)
}

func configure(file string, part Part, flags uint32) (*os.File, Device, error) {
	mode := os.O_RDWR
	if flags&unix.LO_FLAGS_READ_ONLY != 0 {
		mode = os.O_RDONLY
	}
	backing, err := os.OpenFile(file, mode, 0)
	if err != nil {
		return nil, Device{}, fmt.Errorf("attaching %s: %w", file, err)
	}
	defer backing.Close()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, Device{}, fmt.Errorf("attaching %s: %w", file, err)
	}
	defer control.Close()
	for {
		number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, Device{}, fmt.Errorf("attaching %s: finding a free loop device: %w", file, err)
		}
		d := device(number)
		f, err := open(d, mode)
		if err != nil {
			return nil, Device{}, fmt.Errorf("attaching %s: %w", file, err)
		}
		config := unix.LoopConfig{Fd: uint32(backing.Fd())}
		config.Info.Flags, config.Info.Offset, config.Info.Sizelimit = flags, uint64(part.Offset), uint64(part.Length)
		copy(config.Info.File_name[:len(config.Info.File_name)-1], file)
		err = unix.IoctlLoopConfigure(int(f.Fd()), &config)
		if err == nil {
			return f, d, nil
		}
		f.Close()
		if !errors.Is(err, unix.EBUSY) { // somebody else was faster
			return nil, Device{}, fmt.Errorf("attaching %s to %s: %w", file, d.Path, err)
		}
	}
}

// open opens a device, and creates its node where nothing else does, as in a container without
// udev.
func open(d Device, mode int) (*os.File, error) {
	f, err := os.OpenFile(d.Path, mode, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := unix.Mknod(d.Path, unix.S_IFBLK|0o660, int(unix.Mkdev(d.Major, d.Minor))); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("making %s: %w", d.Path, err)
	}
	return os.OpenFile(d.Path, mode, 0)
}

// Find returns a block device that begins at the start of a file, if there is one. A device of only
// the first bytes counts too.
func Find(file string) (Device, bool, error) {
	var want unix.Stat_t
	if err := unix.Stat(file, &want); err != nil {
		return Device{}, false, fmt.Errorf("finding the device of %s: %w", file, err)
	}
	used, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return Device{}, false, err
	}
	for _, path := range used {
		var number int
		if _, err := fmt.Sscanf(path, "/sys/block/loop%d/", &number); err != nil {
			continue
		}
		d := device(number)
		f, err := open(d, os.O_RDONLY)
		if err != nil {
			continue
		}
		info, err := unix.IoctlLoopGetStatus64(int(f.Fd()))
		f.Close()
		if err == nil && info.Inode == want.Ino && info.Device == uint64(want.Dev) && info.Offset == 0 {
			return d, true, nil
		}
	}
	return Device{}, false, nil
}

// Detach ends the block device of a file after writing what it has not written yet. It fails while
// something uses the device; a file without a device is no error.
func Detach(file string) error {
	d, found, err := Find(file)
	if err != nil || !found {
		return err
	}
	f, err := open(d, os.O_RDWR)
	if err != nil {
		return fmt.Errorf("detaching %s: %w", file, err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("detaching %s: %w", file, err)
	}
	if err := exclusive(d); err != nil {
		return fmt.Errorf("detaching %s: %w", file, err)
	}
	if err := unix.IoctlSetInt(int(f.Fd()), unix.LOOP_CLR_FD, 0); err != nil && !errors.Is(err, unix.ENXIO) {
		return fmt.Errorf("detaching %s: %w", file, err)
	}
	return nil
}

// exclusive fails with EBUSY when the device is mounted: LOOP_CLR_FD would
// only mark it to be cleared later, and the file could get a second device.
func exclusive(d Device) error {
	fd, err := unix.Open(d.Path, unix.O_RDONLY|unix.O_EXCL|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// Refresh makes the device of a file as large as the file, also while it is
// mounted. A file without a device is no error.
func Refresh(file string) error {
	d, found, err := Find(file)
	if err != nil || !found {
		return err
	}
	f, err := open(d, os.O_RDWR)
	if err != nil {
		return fmt.Errorf("resizing %s: %w", d.Path, err)
	}
	defer f.Close()
	if err := unix.IoctlSetInt(int(f.Fd()), unix.LOOP_SET_CAPACITY, 0); err != nil {
		return fmt.Errorf("resizing %s: %w", d.Path, err)
	}
	return nil
}

// flush writes what the device of a file, if any, has not written yet.
func flush(file string) error {
	d, found, err := Find(file)
	if err != nil || !found {
		return err
	}
	f, err := open(d, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
