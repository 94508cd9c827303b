package container

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/metadata"
	"github.com/slipway-sh/slipway/internal/sandbox/process"
)

// Create makes the machine and starts it. Called again it goes on where it
// failed; a machine that runs is left as it is.
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

// with runs f on a machine that nothing else works on; err is that of loading
// its record.
func (d *Driver) with(ctx context.Context, doing, id string, f func(s *server, err error) error) error {
	defer d.lock(id)()
	s, err := d.load(id)
	if s == nil {
		return fmt.Errorf("%s server %s: %w", doing, id, err)
	}
	if err := f(s, err); err != nil {
		return fmt.Errorf("%s server %s: %w", doing, id, err)
	}
	return context.Cause(ctx)
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
		return s.stop(ctx, true)
	})
}

// Reboot stops and starts the machine.
func (d *Driver) Reboot(ctx context.Context, id string, hard bool) error {
	return d.with(ctx, "rebooting", id, func(s *server, err error) error {
		if err != nil {
			return err
		}
		if err := s.stop(ctx, !hard); err != nil {
			return err
		}
		return s.start(ctx)
	})
}

// Delete removes the machine, its ports and its disks. Volumes stay.
func (d *Driver) Delete(ctx context.Context, id string) error {
	err := d.with(ctx, "deleting", id, func(s *server, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			// Nothing was recorded, so nothing was made but the folder.
			return os.RemoveAll(s.path(""))
		}
		if err != nil {
			return err
		}
		if err := s.release(ctx); err != nil {
			return err
		}
		for i := range s.Spec.Local {
			if err := d.volumes.DeleteVolume(ctx, s.local(i)); err != nil {
				return err
			}
		}
		return d.discard(s.path(""))
	})
	if err != nil {
		return err
	}
	d.Forget(id)
	return d.dropImages()
}

// discard removes a folder, which can take seconds, while others go on.
func (d *Driver) discard(path string) error {
	bin, err := os.MkdirTemp(d.trash(), "")
	if err != nil {
		return fmt.Errorf("removing the disk: %w", err)
	}
	if err := os.Rename(path, filepath.Join(bin, "server")); err != nil {
		return fmt.Errorf("removing the disk: %w", err)
	}
	d.removals.Go(func() { _ = os.RemoveAll(bin) }) // what is left goes at the next start
	return nil
}

// dropImages unmounts the images that no machine needs and removes their files.
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
		if err != nil {
			return nil // one is being made: later
		}
		used[s.Image] = true
	}
	return d.images.release(used, true)
}

// State asks runc. A machine that has a record but no container is stopped.
func (d *Driver) State(ctx context.Context, id string) (machine.State, error) {
	if _, err := d.load(id); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return machine.Gone, nil
		}
		return "", err
	}
	state, _, err := d.runc.state(ctx, id)
	if state == machine.Gone {
		state = machine.Stopped
	}
	return state, err
}

// List returns the machines that have a record.
func (d *Driver) List(context.Context) ([]string, error) { return d.ids() }

func (d *Driver) ids() ([]string, error) {
	entries, err := os.ReadDir(d.servers())
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

// Console returns what the machine wrote to its console.
func (d *Driver) Console(_ context.Context, id string, lines int) (string, error) {
	s, err := d.load(id)
	if err != nil {
		return "", fmt.Errorf("reading the console of server %s: %w", id, err)
	}
	return process.Tail(s.path("console.log"), lines)
}

// AttachPort adds a link to the machine, under the next free name.
func (d *Driver) AttachPort(ctx context.Context, id string, port machine.Port) error {
	return d.with(ctx, "attaching a port to", id, func(s *server, err error) error {
		if err != nil {
			return err
		}
		n := nic{Name: s.freeName(port.ID), Port: port}
		if i := slices.IndexFunc(s.NICs, func(o nic) bool { return o.Port.ID == port.ID }); i >= 0 {
			s.NICs[i] = n
		} else {
			s.NICs = append(s.NICs, n)
		}
		if err := s.save(); err != nil {
			return err
		}
		d.note(s)
		return s.plug(ctx)
	})
}

func (s *server) freeName(portID string) string {
	for i := 0; ; i++ {
		name := fmt.Sprintf("eth%d", i)
		taken := slices.ContainsFunc(s.NICs, func(n nic) bool { return n.Name == name && n.Port.ID != portID })
		if !taken {
			return name
		}
	}
}

// DetachPort removes the link of a port.
func (d *Driver) DetachPort(ctx context.Context, id, portID string) error {
	return d.with(ctx, "detaching a port from", id, func(s *server, err error) error {
		if err != nil {
			return ignoreMissing(err)
		}
		i := slices.IndexFunc(s.NICs, func(n nic) bool { return n.Port.ID == portID })
		if i < 0 {
			return nil
		}
		if err := d.fabric.Unplug(ctx, s.NICs[i].Port); err != nil {
			return err
		}
		s.NICs = slices.Delete(s.NICs, i, i+1)
		d.Forget(id)
		d.note(s)
		return s.save()
	})
}

// note remembers, for the metadata service, where a machine is.
func (d *Driver) note(s *server) {
	id, ports := s.Spec.ID, make([]machine.Port, len(s.NICs))
	for i, n := range s.NICs {
		ports[i] = n.Port
	}
	d.Note(id, ports, func() (metadata.Instance, bool) {
		s, err := d.load(id)
		if err != nil {
			return metadata.Instance{}, false
		}
		return s.instance(), true
	})
}

// adopt learns where the machines of an earlier process are.
func (d *Driver) adopt() error {
	ids, err := d.ids()
	if err != nil {
		return err
	}
	for _, id := range ids {
		s, err := d.load(id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it died before there was a record; Delete or Create will find it
		}
		if err != nil {
			return err
		}
		d.note(s)
	}
	return nil
}
