// Package container is the driver whose machines are Linux containers: runc runs systemd on the
// file system of an image, in namespaces and a cgroup of its own. Networks, volumes and load
// balancers come from the packages fabric, blockdev and balancer.
package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/blockdev"
	"github.com/slipway-sh/slipway/internal/sandbox/fabric"
	"github.com/slipway-sh/slipway/internal/sandbox/lifecycle"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/site"
)

// Options say what a driver works with.
type Options struct {
	// Dir has the disks, volumes and records of machines; it must be on a real file system with
	// enough room.
	Dir string
	// Runc is the program of the OCI runtime; empty means the one on the PATH.
	Runc string
	// RunDir has what does not outlive a restart of the host; empty means a folder in /run that
	// belongs to Dir.
	RunDir string
	// HostSpace is the network namespace that counts as the host's; empty means the namespace of
	// the process.
	HostSpace string
	Events    event.Sink
}

// Driver implements machine.Machines on this host, and with its site machine.Host.
type Driver struct {
	*site.Site
	*lifecycle.Servers[*server]
	runc    runc
	images  *images
	volumes blockdev.Volumes
	fabric  *fabric.Fabric

	// removals are of the disks of deleted machines.
	removals sync.WaitGroup
}

var (
	_ machine.Host     = (*Driver)(nil)
	_ machine.Machines = (*Driver)(nil)
	_ machine.Rescuer  = (*Driver)(nil)
)

// Open returns the driver of a folder, with a site of its own. Machines that an
// earlier process left running are adopted; kernel settings that machines need are
// raised.
func Open(o Options) (*Driver, error) {
	place, err := site.Open(o.site())
	if err != nil {
		return nil, err
	}
	return OpenAt(place, o.Runc)
}

// OpenAt is like Open, for a site that others may share.
func OpenAt(place *site.Site, runcPath string) (*Driver, error) {
	d, err := New(place, runcPath)
	if err != nil {
		return nil, err
	}
	if err := d.raise(); err != nil {
		return nil, err
	}
	if err := d.Adopt(); err != nil {
		return nil, err
	}
	return d, nil
}

func (o Options) site() site.Options {
	return site.Options{Dir: o.Dir, RunDir: o.RunDir, HostSpace: o.HostSpace, Events: o.Events}
}

// New is like OpenAt, but adopts no machines and raises no settings: the driver can end what an
// earlier process left.
func New(place *site.Site, runcPath string) (*Driver, error) {
	d := &Driver{Site: place, volumes: place.Disks, fabric: place.Net}
	binary, err := exec.LookPath(cmp.Or(runcPath, "runc"))
	if err != nil {
		return nil, fmt.Errorf("finding the OCI runtime: %w", err)
	}
	d.runc = runc{binary: binary, root: filepath.Join(d.RunDir, "runc")}
	if err := os.RemoveAll(d.trash()); err != nil {
		return nil, fmt.Errorf("removing the disks of deleted machines: %w", err)
	}
	folder := filepath.Join(d.Dir, "servers")
	for _, folder := range []string{folder, d.trash(), d.runc.root} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("opening the container driver: %w", err)
		}
	}
	d.images = newImages(filepath.Join(place.Dir, "images"))
	d.Servers = &lifecycle.Servers[*server]{
		Site: place, Folder: folder, Record: "server.json",
		New:        func(id string) *server { return &server{driver: d, Spec: machine.Spec{ID: id}} },
		Discard:    d.discard,
		DropImages: d.images.drop,
	}
	return d, nil
}

func (d *Driver) trash() string { return filepath.Join(d.Dir, "trash") }

// Name is "container".
func (d *Driver) Name() string { return "container" }

// Machines returns the driver itself.
func (d *Driver) Machines() machine.Machines { return d }

// Close ends what runs in this process: metadata and load balancing. Machines and networks stay.
func (d *Driver) Close() error {
	d.removals.Wait()
	return d.Site.Close()
}

// Shutdown ends everything on the host: machines, networks, load balancers, devices and mounts,
// also what an earlier process left, and restores settings. The folder with disks and volumes
// stays, and machines start from it. An error does not stop it: it tries to end the rest too.
func (d *Driver) Shutdown(ctx context.Context) error {
	err := errors.Join(d.Close(), d.End(ctx), d.Site.Shutdown(ctx), d.Restore())
	if err == nil { // what is left must be found by the next one
		err = d.Forsake()
	}
	if err != nil {
		return fmt.Errorf("ending machines: %w", err)
	}
	return nil
}

// End ends all machines, also those that an earlier process left, and what they have on the host.
// An error does not stop it.
func (d *Driver) End(ctx context.Context) error {
	d.removals.Wait()
	return errors.Join(d.Servers.End(ctx), d.images.release(nil, false))
}

// Restore restores the host's settings.
func (d *Driver) Restore() error { return d.lower() }

// Clean is like Shutdown, for a folder whose process is gone, as after kill -9. A folder of which
// nothing runs is no error; it works without the records of the model.
func Clean(ctx context.Context, o Options) error {
	place, err := site.Open(o.site())
	if err != nil {
		return err
	}
	d, err := New(place, o.Runc)
	if err != nil {
		return err
	}
	return d.Shutdown(ctx)
}

// Left reports whether a driver of the folder, in this process or one before,
// has anything on the host.
func Left(o Options) bool {
	if _, err := os.Lstat(filepath.Join(o.Dir, settingName)); err == nil {
		return true
	}
	return site.Left(o.site())
}

// plug connects a machine's link.
func (d *Driver) plug(ctx context.Context, space string, n nic) error {
	return d.fabric.Plug(ctx, fabric.Plug{Space: space, Name: n.Name, Port: n.Port, Host: true})
}

// discard removes a folder in the background, because that can take seconds.
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
