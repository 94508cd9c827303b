package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// Held is the error of [Hold] while another process has the file. Its text is who, and since when.
type Held struct{ by string }

// Error implements error.
func (h *Held) Error() string { return h.by }

// Lock is a file that this process holds.
type Lock struct{ file *os.File }

// Hold has this process alone hold a file, which is created if it is absent, and says in it who
// does. Release ends that, and the end of the process, however it comes. The error is a [Held], or
// that of opening or writing the file.
func Hold(path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(file)
		file.Close()
		return nil, &Held{strings.TrimSpace(string(holder))}
	}
	lock := &Lock{file}
	err = file.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintf(file, "process %d since %s\n", os.Getpid(), time.Now().Format(time.DateTime))
	}
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return lock, nil
}

// Release gives the file up. Closing alone may come late: a process that is being started beside
// this has the file until it is another program.
func (l *Lock) Release() error {
	return errors.Join(syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN), l.file.Close())
}
