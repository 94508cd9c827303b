// Package drivers joins the drivers of one sandbox: containers and virtual machines on
// the same networks, with the same volumes. Each machine has the driver that its flavor
// or image asks for, or the sandbox's own.
package drivers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/site"
)

// Driver runs machines of one kind.
type Driver interface {
	machine.Machines
	// Has reports whether a machine is this driver's.
	Has(id string) bool
	// End ends all machines on the host; their disks stay.
	End(ctx context.Context) error
	// Restore restores settings of the host.
	Restore() error
}

// VolumeUser is what a driver also implements if its machines must be told when a volume grows.
type VolumeUser interface {
	// Users returns the machines that have a volume.
	Users(volume string) ([]string, error)
	// Grow tells a machine the new size of its volume in bytes.
	Grow(ctx context.Context, id, volume string, size int64) error
}

// Host implements machine.Host for several drivers at one site.
type Host struct {
	*site.Site
	name    string
	drivers map[string]Driver
}

var (
	_ machine.Host  = (*Host)(nil)
	_ machine.Ender = (*Host)(nil)
)

// New returns a host whose machines have the driver with that name, unless they ask for another
// one.
func New(place *site.Site, name string, all map[string]Driver) *Host {
	return &Host{Site: place, name: name, drivers: all}
}

// Name returns the name of the sandbox's own driver.
func (h *Host) Name() string { return h.name }

// Machines returns the machines of all drivers.
func (h *Host) Machines() machine.Machines { return machines{h} }

// Volumes returns the volumes of the site.
func (h *Host) Volumes() machine.Volumes { return volumes{h.Site.Volumes(), h} }

// Shutdown ends everything on the host: machines, networks, load balancers, devices and mounts,
// also what an earlier process left, and restores settings. The folder with disks and volumes
// stays, and machines start from it. An error does not stop it.
func (h *Host) Shutdown(ctx context.Context) error {
	err := h.Close()
	for _, name := range h.names() {
		err = errors.Join(err, h.drivers[name].End(ctx))
	}
	err = errors.Join(err, h.Site.Shutdown(ctx))
	for _, name := range h.names() {
		err = errors.Join(err, h.drivers[name].Restore())
	}
	if err == nil { // what is left must be found by the next one
		err = h.Forsake()
	}
	if err != nil {
		return fmt.Errorf("ending machines: %w", err)
	}
	return nil
}

func (h *Host) names() []string { return slices.Sorted(maps.Keys(h.drivers)) }

// choose finds the driver that a machine asks for.
func (h *Host) choose(wanted string) (Driver, error) {
	if wanted == "" {
		wanted = h.name
	}
	if d, ok := h.drivers[wanted]; ok {
		return d, nil
	}
	return nil, &machine.Refusal{Reason: fmt.Sprintf("The flavor or the image asks for the driver %q; this sandbox has %s.", wanted, strings.Join(h.names(), ", "))}
}

// of returns the driver that has a machine, or the sandbox's own driver if none has it.
func (h *Host) of(id string) Driver {
	for _, d := range h.drivers {
		if d.Has(id) {
			return d
		}
	}
	return h.drivers[h.name]
}

// volumes tells machines when their volumes grow.
type volumes struct {
	machine.Volumes
	host *Host
}

const gib = 1 << 30

// ExtendVolume grows the volume, and the disk in the machine that has it.
func (v volumes) ExtendVolume(ctx context.Context, id string, size int) error {
	if err := v.Volumes.ExtendVolume(ctx, id, size); err != nil {
		return err
	}
	return v.users(id, func(u VolumeUser, server string) error { return u.Grow(ctx, server, id, int64(size)*gib) })
}

// DeleteVolume removes the volume; it fails while a machine has it.
func (v volumes) DeleteVolume(ctx context.Context, id string) error {
	err := v.users(id, func(_ VolumeUser, server string) error {
		return fmt.Errorf("deleting volume %s: server %s has it", id, server)
	})
	if err != nil {
		return err
	}
	return v.Volumes.DeleteVolume(ctx, id)
}

func (v volumes) users(id string, do func(u VolumeUser, server string) error) error {
	for _, name := range v.host.names() {
		u, ok := v.host.drivers[name].(VolumeUser)
		if !ok {
			continue
		}
		servers, err := u.Users(id)
		if err != nil {
			return err
		}
		for _, server := range servers {
			if err := do(u, server); err != nil {
				return err
			}
		}
	}
	return nil
}
