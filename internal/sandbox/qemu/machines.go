package qemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/process"
)

// Create makes the machine and starts it. Called again it goes on where it failed; a
// machine that runs is left as it is. What the image or the flavor is to blame for is a
// machine.Refusal.
func (d *Driver) Create(ctx context.Context, spec machine.Spec) error {
	return d.with(ctx, "creating", spec.ID, func(s *server, err error) error {
		d.imageUse.RLock()
		defer d.imageUse.RUnlock()
		if errors.Is(err, fs.ErrNotExist) {
			err = s.new(ctx, spec)
		}
		if err != nil {
			return err
		}
		d.note(s)
		return s.start(ctx)
	})
}

// Start runs a machine that does not run.
func (d *Driver) Start(ctx context.Context, id string) error {
	return d.with(ctx, "starting", id, func(s *server, err error) error {
		if err != nil {
			return err
		}
		d.note(s)
		return s.start(ctx)
	})
}

// Stop lets the machine switch itself off, and ends it if it does not.
func (d *Driver) Stop(ctx context.Context, id string) error {
	return d.with(ctx, "stopping", id, func(s *server, err error) error {
		if err != nil {
			return err
		}
		return s.stop(ctx, d.haltTime)
	})
}

// Reboot stops and starts the machine.
func (d *Driver) Reboot(ctx context.Context, id string, hard bool) error {
	return d.with(ctx, "rebooting", id, func(s *server, err error) error {
		if err != nil {
			return err
		}
		patience := d.haltTime
		if hard {
			patience = 0
		}
		if err := s.stop(ctx, patience); err != nil {
			return err
		}
		return s.start(ctx)
	})
}

// Pause halts the machine's processors.
func (d *Driver) Pause(ctx context.Context, id string) error {
	return d.tell(ctx, "pausing", id, "stop")
}

// Unpause lets them go on.
func (d *Driver) Unpause(ctx context.Context, id string) error {
	return d.tell(ctx, "resuming", id, "cont")
}

func (d *Driver) tell(ctx context.Context, doing, id, command string) error {
	return d.with(ctx, doing, id, func(s *server, err error) error {
		if err != nil || !s.Process.Runs() {
			return err
		}
		m, err := s.monitor(ctx)
		if err != nil {
			return err
		}
		defer m.Close()
		return m.Run(ctx, command, nil)
	})
}

// haltTime is Nova's shutdown_timeout; quitTime is how long QEMU may take to end when it is told to.
const (
	haltTime = 60 * time.Second
	quitTime = 5 * time.Second
)

// stop ends the machine; its disk, ports and volumes stay. With patience it presses the
// power button first, and waits for so long.
func (s *server) stop(ctx context.Context, patience time.Duration) error {
	if s.adopt(); s.Process.Runs() {
		if patience > 0 && !s.trouble(faultinject.NoBoot) {
			s.order(ctx, "system_powerdown", patience)
		}
		s.order(ctx, "quit", quitTime)
		s.Process.Kill()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), quitTime)
		defer cancel()
		if !s.Process.Wait(ending) {
			return fmt.Errorf("QEMU (process %d) does not end", s.Process.PID)
		}
	}
	s.Process = process.ID{}
	if err := os.Remove(s.socket()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.save()
}

// order gives QEMU a command after which it ends, and waits for that. What it does not
// do is done by the next, harder step.
func (s *server) order(ctx context.Context, command string, limit time.Duration) {
	if !s.Process.Runs() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	m, err := s.monitor(ctx)
	if err != nil {
		return
	}
	defer m.Close()
	_ = m.Run(ctx, command, nil) // quit may close the connection before it answers
	s.Process.Wait(ctx)
}

// release takes from the host what the machine has there; the folder stays.
func (s *server) release(ctx context.Context, patience time.Duration) error {
	err := s.stop(ctx, patience)
	for _, card := range s.Cards {
		err = errors.Join(err, s.driver.site.Net.Unplug(ctx, card))
	}
	return err
}

// Delete removes the machine and its disks. Volumes stay.
func (d *Driver) Delete(ctx context.Context, id string) error {
	err := d.with(ctx, "deleting", id, func(s *server, err error) error {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil {
			err = s.release(ctx, 0)
		} else { // nothing was recorded, so that nothing was made but files
			err = nil
		}
		for i := range s.Spec.Local {
			err = errors.Join(err, d.site.Disks.DeleteVolume(ctx, s.local(i)))
		}
		if err != nil {
			return err
		}
		return os.RemoveAll(s.path(""))
	})
	if err != nil {
		return err
	}
	d.site.Forget(id)
	return d.dropImages()
}

// dropImages removes the images that no machine needs.
func (d *Driver) dropImages() error {
	d.imageUse.Lock()
	defer d.imageUse.Unlock()
	ids, err := d.ids()
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for _, id := range ids {
		s, err := d.load(id)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		used[s.Image] = true
	}
	return d.images.Drop(used)
}

// Resize gives a machine that does not run the processors, memory and disk of a spec.
// A disk never gets smaller.
func (d *Driver) Resize(ctx context.Context, spec machine.Spec) error {
	return d.with(ctx, "resizing", spec.ID, func(s *server, err error) error {
		if err != nil {
			return err
		}
		if s.Process.Runs() {
			return errors.New("it runs")
		}
		if s.Image != "" && spec.DiskGiB > s.Spec.DiskGiB {
			h, err := d.prepare(ctx)
			if err != nil {
				return err
			}
			if err := h.tools.Grow(ctx, s.path("root.qcow2"), int64(spec.DiskGiB)*gib); err != nil {
				return err
			}
			s.Spec.DiskGiB = spec.DiskGiB
		}
		s.Spec.VCPUs, s.Spec.MemoryMiB, s.Spec.Metadata = spec.VCPUs, spec.MemoryMiB, spec.Metadata
		return s.save()
	})
}

// State looks for QEMU's process. A machine that has a record but no process is
// stopped.
func (d *Driver) State(_ context.Context, id string) (machine.State, error) {
	s, err := d.load(id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return machine.Gone, nil
	case err != nil:
		return "", err
	case s.Process.Runs():
		return machine.Running, nil
	}
	return machine.Stopped, nil
}

// List returns the machines that have a folder.
func (d *Driver) List(context.Context) ([]string, error) { return d.ids() }

func (d *Driver) ids() ([]string, error) {
	entries, err := os.ReadDir(d.folder())
	if err != nil {
		return nil, fmt.Errorf("listing machines: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

// Console returns what the machine wrote to its serial port.
func (d *Driver) Console(_ context.Context, id string, lines int) (string, error) {
	s, err := d.load(filepath.Base(id))
	if err != nil {
		return "", fmt.Errorf("reading the console of server %s: %w", id, err)
	}
	return process.Tail(s.path("console.log"), lines)
}
