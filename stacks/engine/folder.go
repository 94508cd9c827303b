package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/slipway-sh/slipway/internal/process"
)

// CheckFolder returns a [Locked] if a process of this host works on a state that is kept in the
// folder dir. It needs no passphrase and changes nothing; a lock whose process has ended is none.
func CheckFolder(dir string) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("finding the name of this host: %w", err)
	}
	locked := &Locked{}
	err = filepath.WalkDir(filepath.Join(dir, ".pulumi", "locks"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		if h, ok := readHolder(path); ok && h.Host == host && process.Alive(h.PID, h.Since) {
			locked.Holders = append(locked.Holders, h)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the locks of %s: %w", dir, err)
	}
	if len(locked.Holders) > 0 {
		return locked
	}
	return nil
}

// readHolder reads a lock of the engine (pkg/backend/diy/lock.go). One that has just been released,
// or is half written, is none.
func readHolder(path string) (Holder, bool) {
	var lock struct {
		PID       int
		Username  string
		Hostname  string
		Timestamp time.Time
	}
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &lock) != nil {
		return Holder{}, false
	}
	return Holder{User: lock.Username, Host: lock.Hostname, PID: lock.PID, Since: lock.Timestamp}, true
}
