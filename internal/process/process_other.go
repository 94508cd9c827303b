//go:build !linux

package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// bind does nothing: other systems have no signal at the parent's death.
func bind(*syscall.SysProcAttr) {}

// Self is the path of this program.
func Self() (string, error) { return os.Executable() }

// Alive reports whether a process of that PID is running. Other systems do not
// tell simply when it started.
func Alive(pid int, _ time.Time) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Secret is a file whose name is gone before its content comes, and the path by
// which a child opens it that has it as file descriptor 3: once, from its start.
func Secret(text []byte) (file *os.File, path string, err error) {
	if file, err = os.CreateTemp("", "slipway-"); err != nil {
		return nil, "", fmt.Errorf("creating a file for a secret: %w", err)
	}
	err = os.Remove(file.Name())
	if err == nil {
		_, err = file.Write(text)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.Close()
		return nil, "", fmt.Errorf("writing a secret: %w", err)
	}
	return file, "/dev/fd/3", nil
}
