package container

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/bootdisk"
	"github.com/slipway-sh/slipway/internal/sandbox/blockdev"
	"github.com/slipway-sh/slipway/internal/sandbox/imagestore"
)

// images keeps the file systems that machines are based on: each image is mounted once, read-only,
// for all machines created from it.
type images struct {
	*imagestore.Store
	mu sync.Mutex
}

func newImages(dir string) *images { return &images{Store: imagestore.New(dir)} }

// mountTries are the ways to mount a file system that nothing may write to,
// not even its journal.
var mountTries = []struct{ fs, options string }{
	{"ext4", ""}, {"ext4", "noload"}, {"xfs", "norecovery,nouuid"}, {"erofs", ""}, {"squashfs", ""}, {"btrfs", ""},
}

func (i *images) folder(name string) string { return filepath.Join(i.Dir(), name) }

// mount mounts the file system of an image and returns where.
func (i *images) mount(name string) (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	folder := i.folder(name)
	if mounted(folder) {
		return folder, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("mounting image: %w", err)
	}
	root, err := rootPart(i.File(name))
	if err != nil {
		return "", fmt.Errorf("mounting image: %w", err)
	}
	loop, device, err := blockdev.AttachWhileUsed(i.File(name), root, true)
	if err != nil {
		return "", err
	}
	defer loop.Close() // the mount keeps it from here on
	var all error
	for _, try := range mountTries {
		err := unix.Mount(device.Path, folder, try.fs, unix.MS_RDONLY|unix.MS_NODEV, try.options)
		if err == nil {
			return folder, nil
		}
		if !errors.Is(err, unix.ENODEV) { // a file system that the kernel lacks
			all = errors.Join(all, fmt.Errorf("as %s: %w", try.fs, err))
		}
	}
	return "", fmt.Errorf("mounting image: %s is no file system that this kernel mounts: %w", place(root), all)
}

// rootPart returns the part of a disk, which may be a file or a device, that has the root file
// system: a partition, or the whole disk if there are no partitions.
func rootPart(path string) (blockdev.Part, error) {
	disk, err := os.Open(path)
	if err != nil {
		return blockdev.Part{}, err
	}
	defer disk.Close()
	size, err := disk.Seek(0, io.SeekEnd)
	if err != nil {
		return blockdev.Part{}, err
	}
	root, err := bootdisk.FindRoot(disk, size)
	if errors.Is(err, bootdisk.ErrNoTable) {
		return blockdev.Part{}, nil
	}
	return blockdev.Part{Offset: root.Offset, Length: root.Length}, err
}

// place describes a part of a disk for people.
func place(part blockdev.Part) string {
	if part == (blockdev.Part{}) {
		return "the disk, which has no partitions,"
	}
	return fmt.Sprintf("the partition at byte %d", part.Offset)
}

// release unmounts the images that keep does not name and removes their files.
func (i *images) release(keep map[string]bool, files bool) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	entries, err := os.ReadDir(i.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !e.IsDir() || keep[e.Name()] {
			continue
		}
		folder := i.folder(e.Name())
		err = errors.Join(err, unmount(folder), os.Remove(folder))
		if files {
			err = errors.Join(err, os.Remove(i.File(e.Name())))
		}
	}
	return err
}

// drop removes the images that no machine needs, also those that no machine has mounted
// since the sandbox was started.
func (i *images) drop(used map[string]bool) error {
	return errors.Join(i.release(used, true), i.Drop(used))
}

// mounted reports whether something is mounted on a folder: the folder and its parent have
// different devices.
func mounted(folder string) bool {
	var inside, outside unix.Stat_t
	return unix.Stat(folder, &inside) == nil && unix.Stat(filepath.Dir(folder), &outside) == nil && inside.Dev != outside.Dev
}

func unmount(folder string) error {
	for mounted(folder) {
		if err := unix.Unmount(folder, 0); err == nil {
			continue
		}
		// Something still looks inside; the mount ends with it.
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmounting %s: %w", folder, err)
		}
	}
	return nil
}
