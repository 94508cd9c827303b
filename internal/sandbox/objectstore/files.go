package objectstore

import (
	"crypto/md5" //nolint:gosec // Swift's ETag is an MD5
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// files keeps the bytes of objects, each in a file named by the object's id.
type files struct{ dir string }

const unfinished = ".part"

func (f files) path(id string) string { return filepath.Join(f.dir, id[:2], id) }

// write takes the bytes of a new object, at most limit of them. The file is
// on the disk under its name when write returns, and not at all when it
// fails.
func (f files) write(id string, from io.Reader, limit int64) (size int64, etag string, err error) {
	path := f.path(id)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return 0, "", err
	}
	file, err := os.OpenFile(path+unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, "", err
	}
	defer os.Remove(path + unfinished) // gone already if all went well
	sum := md5.New()
	size, err = io.Copy(io.MultiWriter(file, sum), io.LimitReader(from, limit+1))
	if err == nil && size > limit {
		err = errTooLarge
	}
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return 0, "", err
	}
	return size, hex.EncodeToString(sum.Sum(nil)), os.Rename(path+unfinished, path)
}

var errTooLarge = errors.New("object is too large")

func (f files) open(id string) (*os.File, error) { return os.Open(f.path(id)) }

// remove removes the files of objects that are gone. What cannot be removed
// now is at the next start.
func (f files) remove(ids ...string) {
	for _, id := range ids {
		_ = os.Remove(f.path(id))
	}
}

// sweep removes every file that is unfinished or whose id is not known.
func (f files) sweep(known func(id string) bool) error {
	err := filepath.WalkDir(f.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if strings.HasSuffix(path, unfinished) || !known(entry.Name()) {
			return os.Remove(path)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
