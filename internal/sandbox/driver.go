package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/event"
	accelerator "github.com/slipway-sh/slipway/internal/qemu"
	"github.com/slipway-sh/slipway/internal/sandbox/container"
	"github.com/slipway-sh/slipway/internal/sandbox/drivers"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/qemu"
	"github.com/slipway-sh/slipway/internal/sandbox/site"
)

// The drivers, which run servers.
const (
	// DriverNone has no machines: servers are ACTIVE, thousands of them.
	DriverNone = "none"
	// DriverContainer has Linux containers that run systemd. Single servers can be
	// virtual machines.
	DriverContainer = "container"
	// DriverQEMU has virtual machines.
	DriverQEMU = "qemu"
)

// Drivers returns the names of all drivers.
func Drivers() []string { return []string{DriverContainer, DriverQEMU, DriverNone} }

// HostOptions select the driver and what it works with.
type HostOptions struct {
	// Dir is the sandbox's folder.
	Dir string
	// Driver is one of Drivers.
	Driver string
	// Runc is the program of the OCI runtime for DriverContainer; empty means the one on the PATH,
	// or the one of the last start.
	Runc string
	// Accelerator says how processors of virtual machines are provided: one of qemu.Accelerators.
	Accelerator string
	Events      event.Sink
}

// ErrOtherDriver says that the sandbox was begun with another driver, whose
// machines and volumes this one would not find.
var ErrOtherDriver = errors.New("the sandbox was begun with another driver")

// NewHost returns the host of the driver, with its files below the folder.
func NewHost(o HostOptions) (machine.Host, error) {
	if begun := BegunWith(o.Dir); begun != "" && begun != o.Driver {
		return nil, fmt.Errorf("driver %s: %w, %s", o.Driver, ErrOtherDriver, begun)
	}
	if !slices.Contains(Drivers(), o.Driver) {
		return nil, fmt.Errorf("unknown driver %q (one of %s)", o.Driver, strings.Join(Drivers(), ", "))
	}
	if o.Driver == DriverNone {
		return machine.NewNone(), remember(o)
	}
	runc, err := o.runc()
	if err == nil {
		err = remember(o)
	}
	if err != nil {
		return nil, err
	}
	return o.open(runc, container.OpenAt)
}

// open returns the host of the drivers; it has the driver container only if that is the sandbox's
// own driver.
func (o HostOptions) open(runc string, containers func(*site.Site, string) (*container.Driver, error)) (*drivers.Host, error) {
	place, err := site.Open(o.site())
	if err != nil {
		return nil, err
	}
	virtual, err := qemu.OpenAt(place, cmp.Or(o.Accelerator, accelerator.Auto))
	if err != nil {
		return nil, err
	}
	all := map[string]drivers.Driver{DriverQEMU: virtual}
	if o.Driver == DriverContainer {
		if all[DriverContainer], err = containers(place, runc); err != nil {
			return nil, err
		}
	}
	return drivers.New(place, o.Driver, all), nil
}

// Lacks returns what the driver needs and this host does not have.
func Lacks(o HostOptions) []site.Lack {
	switch o.Driver {
	case DriverContainer:
		return container.Missing(container.Options{Dir: o.machines(), Runc: o.Runc})
	case DriverQEMU:
		return qemu.Missing(o.machines())
	}
	return nil
}

// Sweep ends what a sandbox without a process left on the host, as after
// kill -9. It reports whether there was anything.
func Sweep(ctx context.Context, o HostOptions) (bool, error) {
	o.Driver = BegunWith(o.Dir)
	if o.Driver == "" || o.Driver == DriverNone {
		return false, nil
	}
	if !site.Left(o.site()) && !container.Left(container.Options{Dir: o.machines()}) {
		return false, nil
	}
	host, err := o.open(o.ownRunc(), container.New)
	if err != nil {
		return true, err
	}
	return true, host.Shutdown(ctx)
}

func (o HostOptions) site() site.Options { return site.Options{Dir: o.machines(), Events: o.Events} }

func (o HostOptions) machines() string { return filepath.Join(o.Dir, "machines") }
func (o HostOptions) ownRunc() string  { return filepath.Join(o.machines(), "runc") }

// runc keeps a copy of the OCI runtime, and returns its path, or "" for the one on the PATH:
// machines outlive the process and need it at their end, even if the bundle has been deleted or
// built again.
func (o HostOptions) runc() (string, error) {
	if o.Driver != DriverContainer {
		return "", nil
	}
	if err := os.MkdirAll(o.machines(), 0o700); err != nil {
		return "", fmt.Errorf("making the machines' folder: %w", err)
	}
	if o.Runc != "" {
		return o.ownRunc(), copyProgram(o.ownRunc(), o.Runc)
	}
	if _, err := os.Stat(o.ownRunc()); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return o.ownRunc(), nil
}

func copyProgram(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copying the OCI runtime: %w", err)
	}
	defer in.Close()
	out, err := os.OpenFile(to+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o700)
	if err != nil {
		return fmt.Errorf("copying the OCI runtime: %w", err)
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("copying the OCI runtime: %w", err)
	}
	return os.Rename(to+".new", to)
}

// begun is the file with the name of the driver with which a sandbox was begun.
const begun = "driver.json"

func remember(o HostOptions) error {
	text, err := json.Marshal(map[string]string{"driver": o.Driver})
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(o.Dir, begun), text)
}

// BegunWith returns the driver with which the sandbox of the folder was begun; empty when there is
// none yet.
func BegunWith(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, begun))
	if err != nil {
		return ""
	}
	var kept struct{ Driver string }
	_ = json.Unmarshal(text, &kept)
	return kept.Driver
}
