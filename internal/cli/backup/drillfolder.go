package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The folder of a drill, and the file in it that the drill holds a lock on while it runs.
const (
	drillPrefix = "slipway-drill-"
	drillLock   = "slipway.lock"
)

// longestDrill is how old a folder without that file must be to count as left: an earlier release
// made none.
const longestDrill = 24 * time.Hour

// drillFolder makes the folder of a drill, whose secrets are in it. leave removes it.
func drillFolder(in string) (dir string, leave func(), err error) {
	for range 5 {
		if dir, err = os.MkdirTemp(in, drillPrefix); err != nil { // mode 0700
			return "", nil, err
		}
		lock, failed := holdDrill(dir, os.O_CREATE)
		if failed == nil {
			return dir, func() { os.RemoveAll(dir); lock.Close() }, nil
		}
		os.RemoveAll(dir) //nolint:errcheck // another drill has, which took it for one that was left
		err = failed
	}
	return "", nil, fmt.Errorf("locking %s: %w", dir, err)
}

// holdDrill takes the lock of a folder, which the process then has until it ends, however.
func holdDrill(dir string, flag int) (*os.File, error) {
	path := filepath.Join(dir, drillLock)
	lock, err := os.OpenFile(path, os.O_RDWR|flag, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	var held, there fs.FileInfo
	if err == nil {
		held, err = lock.Stat()
	}
	if err == nil {
		there, err = os.Stat(path)
	}
	if err == nil && !os.SameFile(held, there) { // removed before it was locked
		err = fs.ErrNotExist
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// removeDrills removes the folders of this user's drills that were killed. What cannot be removed
// is left for the next.
func removeDrills(in string, now time.Time) {
	entries, err := os.ReadDir(in)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), drillPrefix) {
			continue
		}
		info, err := entry.Info()
		if err != nil || !ours(info) {
			continue
		}
		dir := filepath.Join(in, entry.Name())
		lock, err := holdDrill(dir, 0)
		switch {
		case err == nil:
			os.RemoveAll(dir) //nolint:errcheck // see above
			lock.Close()
		case errors.Is(err, fs.ErrNotExist) && now.Sub(info.ModTime()) > longestDrill:
			os.RemoveAll(dir) //nolint:errcheck // see above
		}
	}
}

// ours reports whether a file belongs to who runs this: the folder is for all.
func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
