package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// folder is a target in a file system.
type folder struct{ root string }

// half begins the names of files that are being written.
const half = ".writing-"

func (f *folder) String() string { return "file://" + f.root }

func (f *folder) path(name string) string { return filepath.Join(f.root, filepath.FromSlash(name)) }

// Put writes beside the name and links the file to it: a link is made whole or not
// at all, and never replaces a file.
func (f *folder) Put(ctx context.Context, name string, content []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return told(f.String(), name, f.cause(f.write(f.path(name), content)))
}

func (f *folder) write(path string, content []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return ErrExists
	}
	file, err := os.CreateTemp(dir, half) // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil {
		return unlinkable(err)
	}
	return syncFolder(dir)
}

// errNoLinks is that of a folder on FAT, exFAT, and some network and cloud drives.
var errNoLinks = errors.New("its file system has no hard links, and a backup needs them to be stored whole or not at all")

// unlinkable makes errNoLinks of a refusal to link a file that was just made beside the link:
// Linux has no other cause for that.
func unlinkable(err error) error {
	for _, code := range []error{syscall.EPERM, syscall.ENOTSUP, syscall.EOPNOTSUPP, syscall.ENOSYS} {
		if errors.Is(err, code) {
			return fmt.Errorf("%w: %w", errNoLinks, err)
		}
	}
	return err
}

// syncFolder makes the name of a new file survive a power failure.
func syncFolder(dir string) error {
	opened, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}

func (f *folder) cause(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNoLinks): // which is no lack of rights, whatever its number says
		return err
	case errors.Is(err, fs.ErrExist):
		return ErrExists
	case errors.Is(err, fs.ErrNotExist):
		return ErrAbsent
	case errors.Is(err, fs.ErrPermission):
		return errors.Join(ErrDenied, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return errors.Join(ErrFull, err)
	}
	return err
}

func (f *folder) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	file, err := os.Open(f.path(name))
	if err != nil {
		return nil, told(f.String(), name, f.cause(err))
	}
	return file, nil
}

func (f *folder) List(ctx context.Context, prefix string) (entries []Entry, err error) {
	// With a separator at its end, a folder that is a link to one is followed.
	err = filepath.WalkDir(f.root+string(filepath.Separator), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // nothing is stored yet, or it was pruned while this reads
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !entry.Type().IsRegular() || strings.HasPrefix(entry.Name(), half):
			return nil
		}
		below, err := filepath.Rel(f.root, path)
		name := filepath.ToSlash(below)
		if err != nil || !strings.HasPrefix(name, prefix) {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			entries = append(entries, Entry{Name: name, Size: info.Size(), Modified: info.ModTime()})
		}
		return err
	})
	return entries, told(f.String(), prefix, f.cause(err))
}

func (f *folder) Delete(_ context.Context, name string) error {
	err := os.Remove(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return told(f.String(), name, f.cause(err))
}

// Tidy removes from folders of a target what writers that were killed have left half of objects
// before a time, which List does not show; with dry it only counts. Only a target in a file system
// has such.
func Tidy(t Target, folders []string, before time.Time, dry bool) (files int, size int64, err error) {
	if p, ok := t.(*patient); ok {
		t = p.Target
	}
	f, ok := t.(*folder)
	if !ok {
		return 0, 0, nil
	}
	for _, name := range folders {
		entries, err := os.ReadDir(f.path(name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return files, size, told(f.String(), name, f.cause(err))
		}
		for _, entry := range entries {
			if !entry.Type().IsRegular() || !strings.HasPrefix(entry.Name(), half) {
				continue
			}
			info, err := entry.Info()
			if err != nil || !info.ModTime().Before(before) {
				continue // it has just been removed, or its writer may be at work
			}
			if dry || os.Remove(filepath.Join(f.path(name), entry.Name())) == nil { // else the next one tries again
				files, size = files+1, size+info.Size()
			}
		}
	}
	return files, size, nil
}
