package container

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
)

const (
	// The systemd, kubelet and containerd of each machine need some; five machines use up the
	// default of 128.
	inotifyPath = "/proc/sys/fs/inotify/max_user_instances"
	inotifyMin  = 1024
	// settingName is the file with the former value of the setting.
	settingName = "host-setting"
)

func (d *Driver) settingFile() string { return filepath.Join(d.Dir, settingName) }

// raise raises the kernel setting that machines need, if it is too low, after recording its value:
// the next Shutdown restores it, also after a crash.
func (d *Driver) raise() error {
	old, err := readNumber(inotifyPath)
	if err != nil || old >= inotifyMin {
		return err
	}
	// The value before is the first one recorded, not one of ours.
	if _, err := os.Stat(d.settingFile()); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(d.settingFile(), []byte(strconv.Itoa(old)), 0o600); err != nil {
			return fmt.Errorf("recording a kernel setting: %w", err)
		}
	}
	if err := os.WriteFile(inotifyPath, []byte(strconv.Itoa(inotifyMin)), 0); err != nil {
		return fmt.Errorf("raising fs.inotify.max_user_instances: %w", err)
	}
	d.say(fmt.Sprintf("Raised fs.inotify.max_user_instances from %d to %d; stop puts it back.", old, inotifyMin))
	return nil
}

// lower restores the setting, unless somebody has changed it since.
func (d *Driver) lower() error {
	old, err := readNumber(d.settingFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	now, err := readNumber(inotifyPath)
	if err != nil {
		return err
	}
	if now == inotifyMin {
		if err := os.WriteFile(inotifyPath, []byte(strconv.Itoa(old)), 0); err != nil {
			return fmt.Errorf("putting fs.inotify.max_user_instances back: %w", err)
		}
		d.say(fmt.Sprintf("Put fs.inotify.max_user_instances back to %d.", old))
	}
	return os.Remove(d.settingFile())
}

func (d *Driver) say(message string) {
	d.Events.Emit(event.Event{Time: time.Now(), State: event.Note, Step: "machines", Message: message})
}

func readNumber(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", path, err)
	}
	return n, nil
}
