package engine

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/process"
)

// notes is a folder with a file for each process of the engine that was started from it for an
// environment, until that has ended and has given back its lock; empty keeps none. A host name and
// a PID do not tell whose a lock in a remote state is: machines that were made from one image can
// have both in common.
type notes string

func (n notes) path(pid int) string {
	return filepath.Join(string(n), "running-"+strconv.Itoa(pid))
}

// begin notes a process. One that changes the state makes the folder for that. Without a note
// nothing else is lost than that a lock is not removed by itself.
func (n notes) begin(pid int, changes bool) {
	if n == "" {
		return
	}
	if changes {
		_ = os.MkdirAll(string(n), 0o700)
	}
	_ = os.WriteFile(n.path(pid), nil, 0o600)
}

// end forgets a process that gave back its lock, and, after one that had the lock, all that have
// ended: no lock is theirs.
func (n notes) end(pid int, had bool) {
	if n == "" {
		return
	}
	defer func() { // nothing is left, if nothing is in them
		_ = os.Remove(string(n))
		_ = os.Remove(filepath.Dir(string(n)))
	}()
	_ = os.Remove(n.path(pid))
	if !had {
		return
	}
	entries, _ := os.ReadDir(string(n)) // one that stays says nothing wrong
	for _, entry := range entries {
		text, one := strings.CutPrefix(entry.Name(), "running-")
		if former, err := strconv.Atoi(text); one && err == nil && !process.Alive(former, time.Now()) {
			_ = os.Remove(n.path(former))
		}
	}
}

// has reports whether a process of the engine was started from here.
func (n notes) has(pid int) bool {
	_, err := os.Stat(n.path(pid))
	return err == nil
}

// notes are those of the engine, for its environment alone: a run of another one says nothing of
// the lock of this. Who reaches a state in a folder is on its machine.
func (e *Engine) notes() notes {
	if e.local != "" {
		return ""
	}
	return notes(filepath.Join(e.options.Folder, "engine", e.options.Environment))
}
