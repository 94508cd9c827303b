package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// KeepEnd gives the disk back what a log has before the end that Tail reads, once that is as much again.
// Who writes to the log continues, and loses nothing: the file keeps its size, with a hole at its beginning.
// A file system that makes no holes keeps all. A file that does not exist is left alone.
func KeepEnd(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("shortening a log: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("shortening a log: %w", err)
	}
	const block = 512 // of stat(2), whatever the file system has
	if has, ok := info.Sys().(*syscall.Stat_t); !ok || has.Blocks*block <= 2*maxTail || info.Size() <= maxTail {
		return nil
	}
	err = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, info.Size()-maxTail)
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("shortening a log: %w", err)
	}
	return nil
}
