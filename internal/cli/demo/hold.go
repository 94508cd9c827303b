package demo

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/process"
	"github.com/slipway-sh/slipway/stacks/engine"
)

// hold refuses a demo that another process creates or deletes, and keeps others from doing so.
func (o options) hold() (*process.Lock, error) {
	lock, err := process.Hold(filepath.Join(o.dir, marker))
	var held *process.Held
	switch {
	case errors.As(err, &held):
		return nil, busy(o.dir, fmt.Errorf("slipway demo works on this folder: %w", held))
	case err != nil:
		return nil, fault.Usage("--dir", err, "name a folder that you may write to")
	}
	return lock, nil
}

// idle refuses a folder in which a run of an environment goes on, such as slipway up by hand: its
// state would be deleted while it writes it.
func (o options) idle() error {
	err := engine.CheckFolder(filepath.Join(o.dir, stateFolder))
	var locked *engine.Locked
	if errors.As(err, &locked) {
		return busy(o.dir, fmt.Errorf("a run of its environment is under way: the state is %w", locked))
	}
	return err
}

func busy(dir string, err error) error {
	return fault.New(dir, err, "wait until that process has ended, or interrupt it with Ctrl-C")
}
