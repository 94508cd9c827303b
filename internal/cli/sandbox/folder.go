//go:build linux

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox"
)

// systemDir is the folder of a sandbox that was started by root.
const systemDir = "/var/lib/slipway/sandbox"

func describeDefault() string { return "~/.local/state/slipway/sandbox; for root " + systemDir }

// folder returns the absolute path of the sandbox to work on. Without --dir it is
// the user's own; if the user has none but root started one, it is root's.
func folder(flag string) (string, error) {
	if flag != "" {
		return filepath.Abs(flag)
	}
	if os.Geteuid() == 0 {
		return systemDir, nil
	}
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fault.Usage("--dir", err, "give a folder with --dir")
		}
		state = filepath.Join(home, ".local", "state")
	}
	own := filepath.Join(state, "slipway", "sandbox")
	if !sandbox.Exists(own) && sandbox.Exists(systemDir) {
		return systemDir, nil
	}
	return own, nil
}

// handOver makes the user behind sudo the owner of clouds.yaml, because that user
// needs it and cannot read root's files; the rest of the folder stays root's.
func handOver(dir, cloudsYAML string) error {
	uid, err := strconv.Atoi(os.Getenv("SUDO_UID"))
	if err != nil || os.Geteuid() != 0 {
		return nil
	}
	gid, err := strconv.Atoi(os.Getenv("SUDO_GID"))
	if err != nil {
		gid = -1
	}
	err = errors.Join(os.Chmod(dir, 0o711), os.Lchown(cloudsYAML, uid, gid))
	if dir == systemDir { // former versions let nobody through
		err = errors.Join(err, os.Chmod(filepath.Dir(dir), 0o755))
	}
	return err
}
