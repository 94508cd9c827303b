package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// marker is in every folder of a sandbox, so that no other folder is ever mistaken for one and
// deleted.
const marker = "sandbox.lock"

// Prepare creates the folder of a sandbox, mode 0700, in folders that others may pass through. It
// refuses a folder with other files in it.
func Prepare(dir string) error {
	err := os.MkdirAll(filepath.Dir(dir), 0o755)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("making the sandbox's folder: %w", err)
	}
	if Exists(dir) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading the sandbox's folder: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("folder %s holds other things than a sandbox", dir)
	}
	return os.WriteFile(filepath.Join(dir, marker), nil, 0o644)
}

// Exists reports whether the folder is a sandbox's.
func Exists(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, marker))
	return err == nil && info.Mode().IsRegular()
}

// Erase deletes the folder of a sandbox that does not run, with everything in it. It deletes the
// marker last, so that if it is killed, what is left is still known as a sandbox's folder.
func Erase(dir string) error {
	if !Exists(dir) {
		return nil
	}
	claim, err := NewClaim(dir)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != marker {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	if err == nil {
		err = os.RemoveAll(dir)
	}
	return errors.Join(err, claim.Release())
}

// Process is the process that has a sandbox's folder.
type Process struct {
	PID int    `json:"pid"`
	URL string `json:"url"`
}

// ErrRuns says that another process has the folder.
var ErrRuns = errors.New("a sandbox runs in this folder")

// Claim is the right of one process to a sandbox's folder. It ends with the process, in whatever
// way the process ends.
type Claim struct{ file *os.File }

// NewClaim claims the folder for this process; the error is ErrRuns if another process has it.
func NewClaim(dir string) (*Claim, error) {
	file, err := os.OpenFile(filepath.Join(dir, marker), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("claiming the sandbox's folder: %w", err)
	}
	switch err := unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, whole(unix.F_WRLCK)); {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		return nil, errors.Join(ErrRuns, file.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("claiming the sandbox's folder: %w", err), file.Close())
	}
	return &Claim{file}, nil
}

// Announce records where the cloud of this process answers.
func (c *Claim) Announce(url string) error {
	text, err := json.Marshal(Process{PID: os.Getpid(), URL: url})
	if err == nil {
		err = c.file.Truncate(0)
	}
	if err == nil {
		_, err = c.file.WriteAt(text, 0)
	}
	return err
}

// Release ends the claim.
func (c *Claim) Release() error {
	return errors.Join(c.file.Truncate(0), unlock(c.file), c.file.Close())
}

// whole returns a lock of that kind on the whole file. It belongs to the open file, like the locks
// of flock(2), but can be checked without being taken: checking whether a sandbox runs must not
// prevent one from starting at that moment.
func whole(kind int16) *unix.Flock_t { return &unix.Flock_t{Type: kind} }

// unlock ends the lock at once. Closing the file alone may end it late: a process that is being
// started at the same time has the file open until it executes its program.
func unlock(file *os.File) error {
	return unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, whole(unix.F_UNLCK))
}

// Running returns the process that has the folder; false when none has. A process that has not
// announced itself yet has PID 0. The lock decides, so that a PID that another program got since is
// never mistaken for the sandbox's.
func Running(dir string) (p Process, runs bool, err error) {
	file, err := os.Open(filepath.Join(dir, marker))
	if errors.Is(err, fs.ErrNotExist) {
		return p, false, nil
	}
	if err != nil {
		return p, false, fmt.Errorf("looking for the sandbox: %w", err)
	}
	defer file.Close()
	lock := whole(unix.F_WRLCK)
	if err := unix.FcntlFlock(file.Fd(), unix.F_OFD_GETLK, lock); err != nil {
		return p, false, fmt.Errorf("looking for the sandbox: %w", err)
	}
	if lock.Type == unix.F_UNLCK {
		return p, false, nil
	}
	_ = json.NewDecoder(file).Decode(&p) // empty until it is announced
	return p, true, nil
}
