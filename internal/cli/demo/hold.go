package demo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// markerText is the first line of the marker, under which is who holds it.
const markerText = "slipway demo --down deletes this folder\n"

// hold refuses a demo that another process creates or deletes. It keeps others from doing so until
// release is called, or this process ends.
func (o options) hold() (release func(), err error) {
	file, err := os.OpenFile(filepath.Join(o.dir, marker), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fault.Usage("--dir", err, "name a folder that you may write to")
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		text, _ := io.ReadAll(file)
		file.Close()
		_, holder, _ := strings.Cut(string(text), "\n")
		return nil, busy(o.dir, fmt.Errorf("slipway demo works on this folder: %s", strings.TrimSpace(holder)))
	}
	if err := errors.Join(file.Truncate(0), write(file)); err != nil {
		file.Close()
		return nil, fault.Usage("--dir", err, "name a folder that you may write to")
	}
	return func() { file.Close() }, nil
}

func write(file *os.File) error {
	_, err := fmt.Fprintf(file, "%sprocess %d since %s\n", markerText, os.Getpid(), time.Now().Format(time.DateTime))
	return err
}

// idle refuses a folder in which a run of an environment goes on, such as slipway up by hand: its
// state would be deleted while it writes it.
func (o options) idle() error {
	err := engine.CheckFolder(filepath.Join(o.dir, stateFolder))
	var locked *engine.Locked
	if errors.As(err, &locked) {
		return busy(o.dir, fmt.Errorf("a run of its environment goes on: the state is %w", locked))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func busy(dir string, err error) error {
	return fault.New(dir, err, "wait until that process has ended, or interrupt it with Ctrl-C")
}
