// Package qemu is the driver whose machines are virtual ones: QEMU boots the disk of an
// image, with cards that are tap devices on the bridges of the site, and volumes that
// are hot-plugged disks. A machine is a process of its own that outlives this one.
package qemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/qemu"
	"github.com/slipway-sh/slipway/internal/sandbox/imagestore"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/metadata"
	"github.com/slipway-sh/slipway/internal/sandbox/site"
)

// Driver is machine.Machines on this host.
type Driver struct {
	site *site.Site
	// wanted is how processors are to be made: one of qemu.Accelerators.
	wanted string
	images *imagestore.Store
	// imageUse keeps images from being dropped while a machine is made of one.
	imageUse sync.RWMutex

	// haltTime is how long a machine may take to switch itself off; at the end of
	// the sandbox it is half of that.
	haltTime time.Duration

	mu    sync.Mutex
	locks map[string]*sync.Mutex
	// found is what prepare found, nil before.
	found *host
	// reaped are the processes of this process' machines.
	reaped sync.WaitGroup
}

// host is what of this host machines need.
type host struct {
	tools       qemu.Tools
	accelerator string
}

var (
	_ machine.Machines    = (*Driver)(nil)
	_ machine.Pauser      = (*Driver)(nil)
	_ machine.Resizer     = (*Driver)(nil)
	_ machine.Snapshotter = (*Driver)(nil)
)

// OpenAt returns the driver of a site. Machines that an earlier process left running
// are adopted. The accelerator is one of qemu.Accelerators; it, and QEMU, are looked
// for with the first machine.
func OpenAt(place *site.Site, accelerator string) (*Driver, error) {
	d := &Driver{site: place, wanted: accelerator, haltTime: haltTime, locks: map[string]*sync.Mutex{},
		images: imagestore.New(filepath.Join(place.Dir, "vm-images"))}
	if err := os.MkdirAll(d.folder(), 0o700); err != nil {
		return nil, fmt.Errorf("opening the driver qemu: %w", err)
	}
	ids, err := d.ids()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		s, err := d.load(id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it died before there was a record; Delete or Create will find it
		}
		if err != nil {
			return nil, fmt.Errorf("adopting machine %s: %w", id, err)
		}
		d.note(s)
	}
	return d, nil
}

func (d *Driver) folder() string { return filepath.Join(d.site.Dir, "vms") }

// prepare finds QEMU and how processors are made, once.
func (d *Driver) prepare(ctx context.Context) (host, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.found != nil {
		return *d.found, nil
	}
	tools, lacks := qemu.Find()
	for _, l := range lacks {
		return host{}, &machine.Refusal{Reason: fmt.Sprintf("The host of virtual machines lacks %s; install it (Debian's package %s).", l.Tool, l.Package)}
	}
	accelerator, err := tools.Accelerator(ctx, d.wanted)
	if err != nil {
		return host{}, err
	}
	d.found = &host{tools, accelerator}
	message := "Virtual machines run with " + accelerator + "."
	if accelerator == qemu.TCG {
		message = "Virtual machines are emulated (tcg): they boot in one or two minutes."
	}
	d.say(message)
	return *d.found, nil
}

func (d *Driver) say(message string) {
	d.site.Events.Emit(event.Event{Time: now(), State: event.Note, Step: "machines", Message: message})
}

// lock keeps operations on one machine apart and returns the unlock.
func (d *Driver) lock(id string) func() {
	d.mu.Lock()
	l := d.locks[id]
	if l == nil {
		l = &sync.Mutex{}
		d.locks[id] = l
	}
	d.mu.Unlock()
	l.Lock()
	return l.Unlock
}

// End ends all machines, also those that an earlier process left, after asking them to
// switch themselves off. It tries all.
func (d *Driver) End(ctx context.Context) error {
	ids, err := d.ids()
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, id := range ids {
		all.Go(func() {
			e := d.with(ctx, "ending", id, func(s *server, err error) error {
				if err != nil {
					return ignoreMissing(err)
				}
				return s.release(ctx, d.haltTime/2)
			})
			mu.Lock()
			defer mu.Unlock()
			err = errors.Join(err, e)
		})
	}
	all.Wait()
	d.reaped.Wait()
	return err
}

// Close waits for nothing: machines outlive this process.
func (d *Driver) Close() error { return nil }

// Restore does nothing: virtual machines need no settings of the host.
func (d *Driver) Restore() error { return nil }

// Has tells whether a machine is this driver's.
func (d *Driver) Has(id string) bool {
	_, err := os.Stat(filepath.Join(d.folder(), filepath.Base(id)))
	return err == nil
}

// note tells the site where a machine is, for its metadata.
func (d *Driver) note(s *server) {
	id := s.Spec.ID
	d.site.Note(id, s.Cards, func() (metadata.Instance, bool) {
		s, err := d.load(id)
		if err != nil {
			return metadata.Instance{}, false
		}
		return s.instance(), true
	})
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
