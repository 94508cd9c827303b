package qemu

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/qemu"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

// device is one of QEMU's, by its properties.
type device map[string]any

// text writes a device for the command line; its values have no commas.
func text(d device) string {
	parts := []string{fmt.Sprint(d["driver"])}
	for _, name := range slices.Sorted(maps.Keys(d)) {
		if name != "driver" {
			parts = append(parts, fmt.Sprintf("%s=%v", name, d[name]))
		}
	}
	return strings.Join(parts, ",")
}

// Ids in QEMU begin with a letter and have at most 31 characters.
func volumeID(volume string) string { return "disk-" + machine.Serial(volume) }
func nodeID(volume string) string   { return "node-" + machine.Serial(volume) }
func cardID(port string) string     { return "card-" + machine.Serial(port) }
func netID(port string) string      { return "net-" + machine.Serial(port) }

// volumeNode is the file of a volume. What the guest flushes is on the host's disk.
func volumeNode(volume, file string) device {
	return device{"driver": "raw", "node-name": nodeID(volume), "discard": "unmap",
		"file": device{"driver": "file", "filename": file, "discard": "unmap"}}
}

func volumeDevice(volume string) device {
	return device{"driver": "virtio-blk-pci", "id": volumeID(volume), "drive": nodeID(volume), "serial": machine.Serial(volume)}
}

func cardDevice(p machine.Port) device {
	d := device{"driver": "virtio-net-pci", "id": cardID(p.ID), "netdev": netID(p.ID), "mac": p.MAC, "romfile": ""}
	if p.MTU > 0 {
		d["host_mtu"] = p.MTU
	}
	return d
}

// has tells whether a machine has a device.
func has(ctx context.Context, m *qemu.Monitor, id string) (bool, error) {
	err := m.Run(ctx, "qom-list", map[string]any{"path": "/machine/peripheral/" + id})
	var refused *qemu.CommandError
	if errors.As(err, &refused) {
		return false, nil
	}
	return err == nil, err
}

// add hot-plugs a device, after what it stands on has been added by prepare.
func add(ctx context.Context, m *qemu.Monitor, d device, prepare func() error, undo func()) error {
	there, err := has(ctx, m, fmt.Sprint(d["id"]))
	if err != nil || there {
		return err
	}
	if err := prepare(); err != nil {
		return err
	}
	if err := m.Run(ctx, "device_add", d); err != nil {
		undo()
		return err
	}
	return nil
}

// unplugTime is how long a guest may take to let go of a device; one whose kernel does
// not run yet does not.
const unplugTime = 20 * time.Second

// remove asks the guest to let go of a device and waits until it has.
func remove(ctx context.Context, m *qemu.Monitor, id string) error {
	there, err := has(ctx, m, id)
	if err != nil || !there {
		return err
	}
	err = m.Run(ctx, "device_del", map[string]any{"id": id})
	var refused *qemu.CommandError
	if err != nil && !(errors.As(err, &refused) && strings.Contains(refused.Desc, "already in the process of unplug")) {
		return err
	}
	return m.Await(ctx, "DEVICE_DELETED", id, unplugTime)
}

// gone takes the refusal of a command as that what it is to remove is not there.
func gone(err error) error {
	var refused *qemu.CommandError
	if errors.As(err, &refused) && (strings.Contains(refused.Desc, "not found") || strings.Contains(refused.Desc, "Failed to find node")) {
		return nil
	}
	return err
}

// AttachVolume gives the volume the next free device name; a machine that does not run
// has it when it does.
func (d *Driver) AttachVolume(ctx context.Context, id, volume string) (name string, err error) {
	err = d.With(ctx, "attaching volume "+volume+" to", id, func(s *server) error {
		slot, err := s.Slots.Take(volume)
		if err != nil {
			return err
		}
		name = "/dev/" + machine.DeviceName(slot)
		if err := s.save(); err != nil || !s.Process.Runs() {
			return err
		}
		if err := s.plugVolume(ctx, volume); err != nil {
			s.Slots.Free(volume)
			return errors.Join(err, s.save())
		}
		return nil
	})
	return name, err
}

func (s *server) plugVolume(ctx context.Context, volume string) error {
	m, err := s.monitor(ctx)
	if err != nil {
		return err
	}
	defer m.Close()
	drop := func() error {
		return gone(m.Run(ctx, "blockdev-del", map[string]any{"node-name": nodeID(volume)}))
	}
	return add(ctx, m, volumeDevice(volume), func() error {
		if err := drop(); err != nil { // what a process left that was killed here
			return err
		}
		return m.Run(ctx, "blockdev-add", volumeNode(volume, s.driver.site.Disks.Path(volume)))
	}, func() { _ = drop() })
}

// DetachVolume removes the disk. It is an error, to be tried again, until the guest
// has let go of it; one whose kernel does not run yet does so later.
func (d *Driver) DetachVolume(ctx context.Context, id, volume string) error {
	return d.WithAny(ctx, "detaching volume "+volume+" from", id, func(s *server) error {
		if !slices.Contains(s.Slots, volume) {
			return nil
		}
		if s.Process.Runs() {
			if err := s.unplugVolume(ctx, volume); err != nil {
				return err
			}
		}
		s.Slots.Free(volume)
		return s.save()
	})
}

func (s *server) unplugVolume(ctx context.Context, volume string) error {
	m, err := s.monitor(ctx)
	if err != nil {
		return err
	}
	defer m.Close()
	if err := remove(ctx, m, volumeID(volume)); err != nil {
		return err
	}
	return gone(m.Run(ctx, "blockdev-del", map[string]any{"node-name": nodeID(volume)}))
}

// Users are the machines that have a volume.
func (d *Driver) Users(volume string) ([]string, error) {
	ids, err := d.IDs()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(ids, func(id string) bool {
		s, err := d.Load(id)
		return err != nil || !slices.Contains(s.Slots, volume)
	}), nil
}

// Grow tells a machine that one of its volumes has so many bytes now.
func (d *Driver) Grow(ctx context.Context, id, volume string, size int64) error {
	return d.WithAny(ctx, "growing volume "+volume+" of", id, func(s *server) error {
		if !s.Process.Runs() {
			return nil
		}
		m, err := s.monitor(ctx)
		if err != nil {
			return err
		}
		defer m.Close()
		return m.Run(ctx, "block_resize", map[string]any{"node-name": nodeID(volume), "size": size})
	})
}

// AttachPort adds a card to the machine.
func (d *Driver) AttachPort(ctx context.Context, id string, port machine.Port) error {
	return d.With(ctx, "attaching a port to", id, func(s *server) error {
		if i := slices.IndexFunc(s.Cards, func(p machine.Port) bool { return p.ID == port.ID }); i >= 0 {
			s.Cards[i] = port
		} else {
			s.Cards = append(s.Cards, port)
		}
		if err := s.save(); err != nil {
			return err
		}
		d.Announce(s)
		if !s.Process.Runs() {
			return nil
		}
		return s.plugCard(ctx, port)
	})
}

func (s *server) plugCard(ctx context.Context, port machine.Port) error {
	m, err := s.monitor(ctx)
	if err != nil {
		return err
	}
	defer m.Close()
	drop := func() error { return gone(m.Run(ctx, "netdev_del", map[string]any{"id": netID(port.ID)})) }
	return add(ctx, m, cardDevice(port), func() error {
		if err := drop(); err != nil {
			return err
		}
		tap, err := s.driver.site.Net.Tap(ctx, port)
		if err != nil {
			return err
		}
		defer tap.Close()
		name := "file-" + machine.Serial(port.ID)
		if err := m.SendFile(ctx, name, tap); err != nil {
			return err
		}
		return m.Run(ctx, "netdev_add", map[string]any{"type": "tap", "id": netID(port.ID), "fd": name})
	}, func() { _ = drop() })
}

// DetachPort removes the card of a port.
func (d *Driver) DetachPort(ctx context.Context, id, portID string) error {
	return d.WithAny(ctx, "detaching a port from", id, func(s *server) error {
		i := slices.IndexFunc(s.Cards, func(p machine.Port) bool { return p.ID == portID })
		if i < 0 {
			return nil
		}
		if s.Process.Runs() {
			if err := s.unplugCard(ctx, portID); err != nil {
				return err
			}
		}
		if err := d.site.Net.Unplug(ctx, s.Cards[i]); err != nil {
			return err
		}
		s.Cards = slices.Delete(s.Cards, i, i+1)
		d.site.Forget(id)
		d.Announce(s)
		return s.save()
	})
}

func (s *server) unplugCard(ctx context.Context, portID string) error {
	m, err := s.monitor(ctx)
	if err != nil {
		return err
	}
	defer m.Close()
	if err := remove(ctx, m, cardID(portID)); err != nil {
		return err
	}
	return gone(m.Run(ctx, "netdev_del", map[string]any{"id": netID(portID)}))
}
