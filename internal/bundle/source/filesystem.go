package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/bootdisk"
)

// The spare room of a machine's file system: the sandbox uses it as a lower
// layer, and a cloud grows it to the flavor's disk.
const (
	spareBytes  = 128 << 20
	inodeBytes  = 256
	blockBytes  = 4096
	journalSize = 64 << 20
)

// writeDisk makes a disk that boots, with an ext4 file system of a folder as its
// root, just large enough for it and for room bytes more.
func writeDisk(ctx context.Context, j *job, root, file string, room int64, loader bootdisk.Loader, rootType string) error {
	size, err := filesystemSize(root)
	if err != nil {
		return err
	}
	const mib = 1 << 20
	size = (size + room + mib - 1) / mib * mib
	// Identifiers are random but in the latest e2fsprogs.
	id := uuid.NewSHA1(uuid.NameSpaceURL, []byte("https://slipway.sh/machines/"+j.name))
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	err = bootdisk.Write(out, bootdisk.Disk{ID: id, RootType: rootType, RootSize: size, Loader: loader})
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	// GRUB of Debian 12 reads no file system with metadata_csum_seed, which
	// newer releases of e2fsprogs set.
	cmd := j.builder.command(ctx, "", "mke2fs", "-q", "-F", "-t", "ext4", "-b", strconv.Itoa(blockBytes), "-I", strconv.Itoa(inodeBytes), "-O", "64bit,metadata_csum,^metadata_csum_seed", "-d", root, "-L", rootLabel, "-U", id.String(), "-m", "0",
		"-E", fmt.Sprintf("offset=%d,nodiscard,lazy_itable_init=1,root_owner=0:0,hash_seed=%s", bootdisk.RootOffset, id), file, fmt.Sprintf("%dk", size/1024))
	cmd.Env = j.builder.timeless()
	if err := j.builder.runCommand(cmd, nil); err != nil {
		return err
	}
	return clearTimes(file)
}

// inDisk names the file system in a disk that writeDisk made, for e2fsprogs.
func inDisk(disk string) string { return fmt.Sprintf("%s?offset=%d", disk, bootdisk.RootOffset) }

// timeless is an environment in which e2fsprogs writes no times of its own.
func (b *builder) timeless() []string {
	return append(append([]string(nil), b.options.Env...), "SOURCE_DATE_EPOCH=0", "E2FSPROGS_FAKE_TIME=1")
}

// setTimes gives every file the same time: those of the build differ each time.
func setTimes(root string) error {
	return filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return unix.UtimesNanoAt(unix.AT_FDCWD, name, []unix.Timespec{{}, {}}, unix.AT_SYMLINK_NOFOLLOW)
	})
}

// filesystemSize is the room that the files take in blocks, with inodes, the
// journal and the spare.
func filesystemSize(root string) (int64, error) {
	var blocks, files int64
	err := filepath.WalkDir(root, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files++
		if info.Mode().IsRegular() {
			blocks += (info.Size() + blockBytes - 1) / blockBytes
		} else if stat, ok := info.Sys().(*syscall.Stat_t); ok && entry.IsDir() {
			blocks += (stat.Size + blockBytes - 1) / blockBytes
		}
		return nil
	})
	// ext4 keeps an inode for each 16 KiB, and block maps on top.
	used := blocks * blockBytes
	inodes := max(files, used/16384) * inodeBytes
	return (used+inodes+journalSize+spareBytes)*105/100 + files*blockBytes/64, err
}
