// Package container is the driver whose machines are Linux containers: runc
// runs systemd on the file system of an image, in namespaces and a cgroup of
// its own. Networks, volumes and load balancers are those of packages fabric,
// blockdev and balancer.
package container

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/balancer"
	"github.com/slipway-sh/slipway/internal/sandbox/blockdev"
	"github.com/slipway-sh/slipway/internal/sandbox/fabric"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/metadata"
)

// Options say what a driver works with.
type Options struct {
	// Dir keeps machines' disks, volumes and records; it lies on a real file
	// system with room.
	Dir string
	// Runc is the OCI runtime's program; empty is the one on the PATH.
	Runc string
	// RunDir keeps what does not outlive a restart of the host; empty is a
	// folder of /run that belongs to Dir.
	RunDir string
	// HostSpace is the network namespace that counts as the host's; empty is
	// that of the process.
	HostSpace string
	Events    event.Sink
}

// Driver is machine.Host on this host.
type Driver struct {
	Options
	tag      string
	runc     runc
	images   *images
	volumes  blockdev.Volumes
	fabric   *fabric.Fabric
	balancer *balancer.Balancers
	metadata *metadata.Servers

	mu    sync.Mutex
	locks map[string]*sync.Mutex
	// imageUse keeps images from being dropped while a machine is made of one.
	imageUse sync.RWMutex
	// removals are of the disks of deleted machines.
	removals sync.WaitGroup
	// addresses are the machines by network and address.
	addresses map[string]string
}

var (
	_ machine.Host     = (*Driver)(nil)
	_ machine.Machines = (*Driver)(nil)
	_ machine.Fabric   = (*Driver)(nil)
)

// Open returns the driver of a folder. Machines that an earlier process left
// running are adopted; kernel settings that machines need are raised.
func Open(o Options) (*Driver, error) {
	d, err := newDriver(o)
	if err != nil {
		return nil, err
	}
	if err := d.raise(); err != nil {
		return nil, err
	}
	if err := d.adopt(); err != nil {
		return nil, fmt.Errorf("adopting machines: %w", err)
	}
	return d, nil
}

func newDriver(o Options) (*Driver, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening the container driver: %w", err)
	}
	o.Dir = dir
	d := &Driver{Options: o, tag: tagOf(dir), locks: map[string]*sync.Mutex{}, addresses: map[string]string{}}
	if d.Events == nil {
		d.Events = event.Discard{}
	}
	if d.RunDir == "" {
		d.RunDir = defaultRunDir(d.tag)
	}
	if d.Runc == "" {
		d.Runc = "runc"
	}
	binary, err := exec.LookPath(d.Runc)
	if err != nil {
		return nil, fmt.Errorf("finding the OCI runtime: %w", err)
	}
	d.runc = runc{binary: binary, root: filepath.Join(d.RunDir, "runc")}
	if err := os.RemoveAll(d.trash()); err != nil {
		return nil, fmt.Errorf("removing the disks of deleted machines: %w", err)
	}
	for _, folder := range []string{d.servers(), d.trash(), d.runc.root} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("opening the container driver: %w", err)
		}
	}
	if d.volumes, err = blockdev.New(dir); err != nil {
		return nil, err
	}
	d.images = &images{dir: filepath.Join(dir, "images")}
	d.fabric = fabric.New(fabric.Options{Dir: filepath.Join(d.RunDir, "spaces"), Tag: d.tag, Host: o.HostSpace})
	d.balancer = balancer.New(d.fabric, filepath.Join(d.RunDir, "spaces"))
	d.metadata = metadata.NewServers(d.instanceAt)
	return d, nil
}

func (d *Driver) servers() string { return filepath.Join(d.Dir, "servers") }
func (d *Driver) trash() string   { return filepath.Join(d.Dir, "trash") }

func (d *Driver) space(kind, id string) string {
	return filepath.Join(d.RunDir, "spaces", kind+"-"+filepath.Base(id))
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

// Name is "container".
func (d *Driver) Name() string { return "container" }

// Machines returns the driver itself.
func (d *Driver) Machines() machine.Machines { return d }

// Fabric returns the driver itself, which adds metadata to networks.
func (d *Driver) Fabric() machine.Fabric { return d }

// Volumes returns the volumes in the folder.
func (d *Driver) Volumes() machine.Volumes { return d.volumes }

// Balancers returns the load balancers.
func (d *Driver) Balancers() machine.Balancers { return d.balancer }

// Close ends what lives in this process: metadata and load balancing. Machines
// and networks stay.
func (d *Driver) Close() error {
	d.removals.Wait()
	return errors.Join(d.metadata.Close(), d.balancer.Close())
}

// Shutdown ends everything on the host: machines, networks, load balancers,
// devices and mounts, also what an earlier process left, and puts settings
// back. The folder with disks and volumes stays, and machines start from it.
// It tries all, whatever fails on the way.
func (d *Driver) Shutdown(ctx context.Context) error {
	err := d.Close()
	ids, listErr := d.List(ctx)
	err = errors.Join(err, listErr)
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, id := range ids {
		all.Go(func() {
			e := d.releaseServer(ctx, id)
			mu.Lock()
			defer mu.Unlock()
			err = errors.Join(err, e)
		})
	}
	all.Wait()
	err = errors.Join(err, d.balancer.Shutdown(), d.fabric.Shutdown(ctx), d.images.release(nil, false), d.volumes.Release())
	if err != nil { // what is left must be found by the next one
		return fmt.Errorf("ending machines: %w", err)
	}
	if err := d.lower(); err != nil {
		return err
	}
	if err := os.RemoveAll(d.RunDir); err != nil {
		return fmt.Errorf("ending machines: %w", err)
	}
	_ = os.Remove(filepath.Dir(d.RunDir)) // the last one of several sandboxes
	return nil
}

func (d *Driver) releaseServer(ctx context.Context, id string) error {
	defer d.lock(id)()
	s, err := d.load(id)
	if err == nil {
		err = s.release(ctx)
	}
	if err != nil {
		return fmt.Errorf("ending server %s: %w", id, err)
	}
	return nil
}

// Clean is Shutdown for a folder whose process is gone, as after kill -9. A
// folder that has nothing running is no error; it works without the records of
// the model.
func Clean(ctx context.Context, o Options) error {
	d, err := newDriver(o)
	if err != nil {
		return err
	}
	return d.Shutdown(ctx)
}

// Left reports whether a driver of the folder, in this process or one before,
// has anything on the host.
func Left(o Options) bool {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return false
	}
	runDir := o.RunDir
	if runDir == "" {
		runDir = defaultRunDir(tagOf(dir))
	}
	for _, path := range []string{runDir, filepath.Join(dir, settingName)} {
		if _, err := os.Lstat(path); err == nil {
			return true
		}
	}
	return false
}

// tagOf tells what belongs to one folder's driver from what belongs to another's.
func tagOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:3])
}

func defaultRunDir(tag string) string { return "/run/slipway/" + tag }

// plug connects a machine's link.
func (d *Driver) plug(ctx context.Context, space string, n nic) error {
	return d.fabric.Plug(ctx, fabric.Plug{Space: space, Name: n.Name, Port: n.Port, Host: true})
}
