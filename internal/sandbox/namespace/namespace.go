// Package namespace makes network namespaces that have a name in the file
// system, as ip-netns(8) does, and runs code inside them.
package namespace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

const own = "/proc/thread-self/ns/net"

// Create makes the network namespace whose name is the file at path. One that
// exists is left as it is.
func Create(path string) error {
	if Exists(path) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("naming network namespace: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o444)
	if err != nil {
		return fmt.Errorf("naming network namespace: %w", err)
	}
	f.Close()
	done := make(chan error)
	go func() {
		// The thread stays locked and ends with the goroutine: it must not run
		// anything else in the new namespace.
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("unsharing network namespace: %w", err)
			return
		}
		done <- unix.Mount(own, path, "", unix.MS_BIND, "")
	}()
	if err := <-done; err != nil {
		os.Remove(path)
		return fmt.Errorf("creating network namespace %s: %w", path, err)
	}
	return nil
}

// Exists tells whether path is the name of a namespace; the file alone is not
// enough, it remains when the machine is switched off.
func Exists(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Type == unix.NSFS_MAGIC
}

// Delete removes the name; the namespace ends with the last that uses it.
// One that does not exist is no error.
func Delete(path string) error {
	// A name can be mounted more than once where mounts are shared.
	for Exists(path) {
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("deleting network namespace %s: %w", path, err)
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("deleting network namespace: %w", err)
	}
	return nil
}

// Do runs f on a thread inside the namespace at path and returns its error.
// Sockets that f opens belong to the namespace for as long as they live; f
// must not start goroutines that open more of them.
func Do(path string, f func() error) error {
	target, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening network namespace %s: %w", path, err)
	}
	defer unix.Close(target)
	done := make(chan error, 1)
	go func() { done <- visit(target, f) }()
	return <-done
}

// visit leaves its thread locked when the way back fails, so that the thread
// ends with the goroutine.
func visit(target int, f func() error) error {
	runtime.LockOSThread()
	home, err := unix.Open(own, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening own network namespace: %w", err)
	}
	defer unix.Close(home)
	if err := unix.Setns(target, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("entering network namespace: %w", err)
	}
	err = f()
	if unix.Setns(home, unix.CLONE_NEWNET) == nil {
		runtime.UnlockOSThread()
	}
	return err
}
