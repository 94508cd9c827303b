package qemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/process"
)

// Pause halts the machine's processors.
func (d *Driver) Pause(ctx context.Context, id string) error {
	return d.tell(ctx, "pausing", id, "stop")
}

// Unpause lets them continue.
func (d *Driver) Unpause(ctx context.Context, id string) error {
	return d.tell(ctx, "resuming", id, "cont")
}

func (d *Driver) tell(ctx context.Context, doing, id, command string) error {
	return d.With(ctx, doing, id, func(s *server) error {
		if !s.Process.Runs() {
			return nil
		}
		m, err := s.monitor(ctx)
		if err != nil {
			return err
		}
		defer m.Close()
		if err := m.Run(ctx, command, nil); err != nil {
			return err
		}
		s.Halted = false // its owner's wish counts now
		return s.save()
	})
}

// haltTime is Nova's shutdown_timeout; quitTime is how long QEMU may take to end when it is told to.
const (
	haltTime = 60 * time.Second
	quitTime = 5 * time.Second
)

// Stop ends the machine; its disk, ports and volumes stay. A gentle stop presses the
// power button first, and waits.
func (s *server) Stop(ctx context.Context, gentle bool) error {
	return s.stop(ctx, patience(gentle, s.driver.haltTime))
}

// patience is how long a machine may take to switch itself off.
func patience(gentle bool, limit time.Duration) time.Duration {
	if gentle {
		return limit
	}
	return 0
}

// stop with patience presses the power button first, and waits for so long.
func (s *server) stop(ctx context.Context, patience time.Duration) error {
	if s.adopt(); s.Process.Runs() {
		if patience > 0 && !s.trouble(faultinject.NoBoot) {
			s.order(ctx, patience, "cont", "system_powerdown") // a paused one would not see the button
			if errors.Is(ctx.Err(), context.Canceled) {
				return context.Cause(ctx) // the end of the sandbox, which gives the guest its time itself
			}
		}
		s.order(ctx, quitTime, "quit")
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

// order gives QEMU commands after which it ends, and waits for that. What it does not
// do is done by the next, harder step.
func (s *server) order(ctx context.Context, limit time.Duration, commands ...string) {
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
	for _, command := range commands {
		_ = m.Run(ctx, command, nil) // quit may close the connection before it answers
	}
	s.Process.Wait(ctx)
}

// State looks for QEMU's process.
func (s *server) State(context.Context) (machine.State, error) {
	if s.Process.Runs() {
		return machine.Running, nil
	}
	return machine.Stopped, nil
}

// Release takes from the host what the machine has there; the folder stays. At the end
// of a sandbox a machine has half the time to switch itself off.
func (s *server) Release(ctx context.Context, gentle bool) error {
	err := s.stop(ctx, patience(gentle, s.driver.haltTime/2))
	for _, card := range s.Cards {
		err = errors.Join(err, s.driver.site.Net.Unplug(ctx, card))
	}
	return err
}

// Resize gives a machine that does not run the processors, memory and disk of a spec.
// A disk never gets smaller.
func (d *Driver) Resize(ctx context.Context, spec machine.Spec) error {
	return d.With(ctx, "resizing", spec.ID, func(s *server) error {
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
// stopped. It shortens the console, as lifecycle does.
func (d *Driver) State(_ context.Context, id string) (machine.State, error) {
	s, err := d.Load(id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return machine.Gone, nil
	case err != nil:
		return "", err
	case s.Process.Runs():
		d.ShortenConsole(id)
		return machine.Running, nil
	}
	return machine.Stopped, nil
}
