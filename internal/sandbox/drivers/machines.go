package drivers

import (
	"context"
	"fmt"
	"io"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

// machines sends each call to the driver that has the machine.
type machines struct{ *Host }

var (
	_ machine.Machines    = machines{}
	_ machine.Pauser      = machines{}
	_ machine.Rescuer     = machines{}
	_ machine.Resizer     = machines{}
	_ machine.Snapshotter = machines{}
)

// Create creates the machine with the driver that it asks for.
func (m machines) Create(ctx context.Context, spec machine.Spec) error {
	d, err := m.choose(spec.Driver)
	if err != nil {
		return err
	}
	if has := m.of(spec.ID); has.Has(spec.ID) {
		d = has // it goes on where it failed, whatever the flavor says now
	}
	return d.Create(ctx, spec)
}

func (m machines) Start(ctx context.Context, id string) error { return m.of(id).Start(ctx, id) }
func (m machines) Stop(ctx context.Context, id string) error  { return m.of(id).Stop(ctx, id) }
func (m machines) Reboot(ctx context.Context, id string, hard bool) error {
	return m.of(id).Reboot(ctx, id, hard)
}
func (m machines) Delete(ctx context.Context, id string) error { return m.of(id).Delete(ctx, id) }
func (m machines) State(ctx context.Context, id string) (machine.State, error) {
	return m.of(id).State(ctx, id)
}

// List returns the machines of all drivers.
func (m machines) List(ctx context.Context) ([]string, error) {
	var all []string
	for _, name := range m.names() {
		ids, err := m.drivers[name].List(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, ids...)
	}
	return all, nil
}

func (m machines) Console(ctx context.Context, id string, lines int) (string, error) {
	return m.of(id).Console(ctx, id, lines)
}

func (m machines) AttachVolume(ctx context.Context, id, volumeID string) (string, error) {
	return m.of(id).AttachVolume(ctx, id, volumeID)
}

func (m machines) DetachVolume(ctx context.Context, id, volumeID string) error {
	return m.of(id).DetachVolume(ctx, id, volumeID)
}

func (m machines) AttachPort(ctx context.Context, id string, port machine.Port) error {
	return m.of(id).AttachPort(ctx, id, port)
}

func (m machines) DetachPort(ctx context.Context, id, portID string) error {
	return m.of(id).DetachPort(ctx, id, portID)
}

// Pause pauses a machine, if its driver can.
func (m machines) Pause(ctx context.Context, id string) error {
	if d, ok := m.of(id).(machine.Pauser); ok {
		return d.Pause(ctx, id)
	}
	return nil
}

// Unpause lets it continue.
func (m machines) Unpause(ctx context.Context, id string) error {
	if d, ok := m.of(id).(machine.Pauser); ok {
		return d.Unpause(ctx, id)
	}
	return nil
}

// SetAside keeps a machine and its disk, if its driver can.
func (m machines) SetAside(ctx context.Context, id string) error {
	d := m.of(id)
	if r, ok := d.(machine.Rescuer); ok {
		return r.SetAside(ctx, id)
	}
	return d.Delete(ctx, id)
}

// BringBack restores the machine that was set aside. A rescued machine has the same driver.
func (m machines) BringBack(ctx context.Context, spec machine.Spec) error {
	d := m.of(spec.ID)
	if r, ok := d.(machine.Rescuer); ok {
		return r.BringBack(ctx, spec)
	}
	return d.Delete(ctx, spec.ID)
}

// Resize gives a machine a new size, if its driver can. It never changes the driver of a machine.
func (m machines) Resize(ctx context.Context, spec machine.Spec) error {
	wanted, err := m.choose(spec.Driver)
	if err != nil {
		return err
	}
	d := m.of(spec.ID)
	if d != wanted {
		return fmt.Errorf("resizing server %s: the new flavor asks for another driver, which needs a new server", spec.ID)
	}
	if r, ok := d.(machine.Resizer); ok {
		return r.Resize(ctx, spec)
	}
	return nil
}

// Snapshot reads the disk of a machine; if its driver cannot, the error is machine.ErrNoDisk.
func (m machines) Snapshot(ctx context.Context, id string) (io.ReadCloser, error) {
	if d, ok := m.of(id).(machine.Snapshotter); ok {
		return d.Snapshot(ctx, id)
	}
	return nil, machine.ErrNoDisk
}
