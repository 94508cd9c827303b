// Package qemu is the driver whose machines are virtual ones: QEMU boots the disk of an
// image, with cards that are tap devices on the bridges of the site, and volumes that
// are hot-plugged disks. A machine is a process of its own that outlives this one.
package qemu

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/qemu"
	"github.com/slipway-sh/slipway/internal/sandbox/imagestore"
	"github.com/slipway-sh/slipway/internal/sandbox/lifecycle"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/site"
)

// Driver is machine.Machines on this host.
type Driver struct {
	*lifecycle.Servers[*server]

	site *site.Site
	// wanted is how processors are to be made: one of qemu.Accelerators.
	wanted string
	images *imagestore.Store

	// haltTime is how long a machine may take to switch itself off; at the end of
	// the sandbox it is half of that.
	haltTime time.Duration

	mu sync.Mutex
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
	_ machine.Rescuer     = (*Driver)(nil)
	_ machine.Resizer     = (*Driver)(nil)
	_ machine.Snapshotter = (*Driver)(nil)
)

// OpenAt returns the driver of a site. Machines that an earlier process left running
// are adopted. The accelerator is one of qemu.Accelerators; it, and QEMU, are looked
// for with the first machine.
func OpenAt(place *site.Site, accelerator string) (*Driver, error) {
	d := &Driver{site: place, wanted: accelerator, haltTime: haltTime,
		images: imagestore.New(filepath.Join(place.Dir, "vm-images"))}
	d.Servers = &lifecycle.Servers[*server]{
		Site: place, Folder: filepath.Join(place.Dir, "vms"), Record: "vm.json",
		New:        func(id string) *server { return &server{driver: d, Spec: machine.Spec{ID: id}} },
		Discard:    os.RemoveAll,
		DropImages: d.images.Drop,
	}
	if err := os.MkdirAll(d.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("opening the driver qemu: %w", err)
	}
	return d, d.Adopt()
}

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
	switch {
	case ctx.Err() != nil:
		return host{}, context.Cause(ctx)
	case err != nil:
		return host{}, &machine.Refusal{Reason: fmt.Sprintf("The sandbox was started with --accel %s, but %v; start it with --accel auto.", d.wanted, err)}
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

// End ends all machines, also those that an earlier process left, after asking them to
// switch themselves off. It tries all.
func (d *Driver) End(ctx context.Context) error {
	err := d.Servers.End(ctx)
	d.reaped.Wait()
	return err
}

// Close waits for nothing: machines outlive this process.
func (d *Driver) Close() error { return nil }

// Restore does nothing: virtual machines need no settings of the host.
func (d *Driver) Restore() error { return nil }
