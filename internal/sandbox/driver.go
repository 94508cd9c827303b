package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/sandbox/container"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

// The drivers: what can stand behind servers.
const (
	// DriverNone has no machines: servers are ACTIVE, thousands of them.
	DriverNone = "none"
	// DriverContainer has Linux containers that run systemd.
	DriverContainer = "container"
)

// Drivers are the names of all drivers.
func Drivers() []string { return []string{DriverContainer, DriverNone} }

// HostOptions say which driver and what it works with.
type HostOptions struct {
	// Dir is the sandbox's folder.
	Dir string
	// Driver is one of Drivers.
	Driver string
	// Runc is the OCI runtime's program for DriverContainer; empty is the one
	// on the PATH, or that of the last start.
	Runc   string
	Events event.Sink
}

// ErrOtherDriver says that the sandbox was begun with another driver, whose
// machines and volumes this one would not find.
var ErrOtherDriver = errors.New("the sandbox was begun with another driver")

// NewHost makes the driver, with its files below the folder.
func NewHost(o HostOptions) (machine.Host, error) {
	if begun := BegunWith(o.Dir); begun != "" && begun != o.Driver {
		return nil, fmt.Errorf("driver %s: %w, %s", o.Driver, ErrOtherDriver, begun)
	}
	switch o.Driver {
	case DriverNone:
		return machine.NewNone(), remember(o)
	case DriverContainer:
		options, err := o.container()
		if err != nil {
			return nil, err
		}
		if err := remember(o); err != nil {
			return nil, err
		}
		return container.Open(options)
	}
	return nil, fmt.Errorf("unknown driver %q (one of %s)", o.Driver, strings.Join(Drivers(), ", "))
}

// Lacks is what this host does not have that the driver needs.
func Lacks(o HostOptions) []container.Lack {
	if o.Driver != DriverContainer {
		return nil
	}
	return container.Missing(container.Options{Dir: o.machines(), Runc: o.Runc})
}

// Sweep ends what a sandbox without a process left on the host, as after
// kill -9. It reports whether there was anything.
func Sweep(ctx context.Context, o HostOptions) (bool, error) {
	if BegunWith(o.Dir) != DriverContainer {
		return false, nil
	}
	options := container.Options{Dir: o.machines(), Runc: o.ownRunc(), Events: o.Events}
	if !container.Left(options) {
		return false, nil
	}
	return true, container.Clean(ctx, options)
}

func (o HostOptions) machines() string { return filepath.Join(o.Dir, "machines") }
func (o HostOptions) ownRunc() string  { return filepath.Join(o.machines(), "runc") }

// container keeps a copy of the OCI runtime: machines outlive the process and
// need it at their end, also when the bundle has gone or is made anew.
func (o HostOptions) container() (container.Options, error) {
	if err := os.MkdirAll(o.machines(), 0o700); err != nil {
		return container.Options{}, fmt.Errorf("making the machines' folder: %w", err)
	}
	options := container.Options{Dir: o.machines(), Runc: o.ownRunc(), Events: o.Events}
	if o.Runc == "" {
		if _, err := os.Stat(o.ownRunc()); errors.Is(err, fs.ErrNotExist) {
			options.Runc = ""
		}
		return options, nil
	}
	return options, copyProgram(o.ownRunc(), o.Runc)
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

// begun is the file that keeps with which driver a sandbox was begun.
const begun = "driver.json"

func remember(o HostOptions) error {
	text, err := json.Marshal(map[string]string{"driver": o.Driver})
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(o.Dir, begun), text)
}

// BegunWith is the driver with which the sandbox of the folder was begun;
// empty when there is none yet.
func BegunWith(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, begun))
	if err != nil {
		return ""
	}
	var kept struct{ Driver string }
	_ = json.Unmarshal(text, &kept)
	return kept.Driver
}
