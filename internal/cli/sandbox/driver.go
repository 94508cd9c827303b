//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/sandbox"
	"github.com/slipway-sh/slipway/internal/sandbox/site"
	"github.com/slipway-sh/slipway/internal/ui"
)

// driverAuto is the driver that the sandbox was first started with, or the first
// driver that this host can run.
const driverAuto = "auto"

// host returns what the driver needs from the host. It uses the bundle's OCI
// runtime if there is one.
func (o startOptions) host(events event.Sink) sandbox.HostOptions {
	options := sandbox.HostOptions{Dir: o.dir, Driver: o.driver, Accelerator: o.accel, Events: events}
	if runc := filepath.Join(o.bundle, "bin", "runc"); isFile(runc) {
		options.Runc = runc
	}
	return options
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// choose chooses the driver, and says what the host lacks and what works anyway.
func (o *startOptions) choose(streams ui.Streams) (err error) {
	if o.bundle, err = filepath.Abs(o.bundle); err != nil {
		return fault.Usage("--bundle", err, "give the folder of a bundle")
	}
	chosen := o.driver != driverAuto
	begun := sandbox.BegunWith(o.dir)
	switch {
	case chosen:
	case begun != "":
		o.driver, chosen = begun, true
	default:
		o.driver = sandbox.DriverContainer
	}
	lacks := sandbox.Lacks(o.host(event.Discard{}))
	fatal := slices.DeleteFunc(slices.Clone(lacks), func(l site.Lack) bool { return !l.Fatal })
	if len(fatal) > 0 && chosen {
		return refuse(o.driver, fatal)
	}
	if len(fatal) > 0 {
		lacks, o.driver = fatal, sandbox.DriverNone
	}
	tell(streams, lacks)
	return nil
}

// tell says what the host lacks: what keeps machines from running, and what is
// only worth knowing.
func tell(streams ui.Streams, lacks []site.Lack) {
	for _, l := range lacks {
		word := "Note: this host lacks"
		if l.Fatal {
			word = "Missing:"
		}
		fmt.Fprintf(streams.Err, "%s %s. %s %s\n", word, l.What, l.Without, l.Remedy)
	}
}

func refuse(driver string, lacks []site.Lack) error {
	var all []error
	for _, l := range lacks {
		all = append(all, fault.New("driver "+driver, fmt.Errorf("%s is missing", l.What), l.Remedy))
	}
	return errors.Join(all...)
}
