package demo

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/source"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/ui"
)

// What a demo takes.
const (
	// perMachine is the memory that a machine of the environment uses, about.
	perMachine = 1800 << 20
	// virtualSeed and virtualNode are what the flavors of virtual machines give them. Each takes
	// all of it after a while.
	virtualSeed, virtualNode = 8 << 30, 4 << 30
	// enough is the memory of this machine with which a control plane of three
	// leaves something for others.
	enough = 14 << 30
	// upTime is how long an environment takes on two quiet processors.
	upTime = 5 * time.Minute
)

// estimate is what a demo will take.
type estimate struct {
	// bundle says where the bundle comes from.
	bundle string
	// build is how long it takes to build what is missing; 0 if nothing is.
	build         time.Duration
	cpus          int
	memory        uint64
	controlPlanes int
	machines      bool
	// virtual says that the machines are virtual.
	virtual bool
	// empty says that there is no bundle at all.
	empty bool
	dir   string
}

func (o options) estimate() (estimate, error) {
	e := estimate{cpus: runtime.NumCPU(), memory: memory(), controlPlanes: o.controlPlanes, machines: o.driver != driverNone, virtual: o.driver == driverQEMU, dir: o.dir}
	if e.controlPlanes == 0 {
		e.controlPlanes = 3
		if e.memory > 0 && e.memory < enough {
			e.controlPlanes = 1
		}
	}
	missing, err := missing(o.bundle)
	if err != nil {
		return e, err
	}
	all := len(component.All())
	e.empty = len(missing) == all
	switch {
	case len(missing) == 0:
		e.bundle = o.bundle + ", which is complete"
	case o.from != "":
		e.bundle = "pulled from " + o.from + " into " + o.bundle
	case !e.machines:
		e.bundle = "not needed without machines, but there is no plan without one"
	default:
		e.build = source.Duration(missing, e.cpus)
		e.bundle = fmt.Sprintf("%s; %d of %d items are missing there, and are pulled or built", o.bundle, len(missing), all)
	}
	return e, nil
}

// missing are the items that a bundle lacks.
func missing(dir string) ([]string, error) {
	folder, err := bundle.Open(dir)
	if err != nil && !errors.Is(err, bundle.ErrNone) {
		return nil, err
	}
	var lacks []string
	for _, c := range component.All() {
		if folder == nil || folder.Bill().Item(c.Name) == nil {
			lacks = append(lacks, c.Name)
		}
	}
	return lacks, nil
}

// memory is that of this machine in bytes, or 0 where it cannot be read.
func memory() uint64 {
	file, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var kib uint64
		if n, _ := fmt.Sscanf(lines.Text(), "MemTotal: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// need is the memory of all machines in bytes.
func (e estimate) need() int64 {
	if e.virtual {
		return virtualSeed + int64(e.servers()-1)*virtualNode
	}
	return int64(e.servers()) * perMachine
}

// servers are the seed, the control plane and one worker.
func (e estimate) servers() int { return 2 + e.controlPlanes }

func (e estimate) print(w io.Writer) {
	fmt.Fprintf(w, "A demo in %s, on %d processors and %s of memory:\n", e.dir, e.cpus, ui.Bytes(int64(e.memory)))
	fmt.Fprintf(w, "  bundle       %s\n", e.bundle)
	if e.build > 0 {
		fmt.Fprintf(w, "               building takes about %.0f minutes and up to 25 GB of disk, with Go and Debian's packages\n", e.build.Minutes())
	}
	if !e.machines {
		fmt.Fprintln(w, "  environment  all APIs, but no machines: a file and a plan, in seconds")
		return
	}
	fmt.Fprintf(w, "  environment  a seed, %d of a control plane, a worker: about %s of memory and %s\n", e.controlPlanes, ui.Bytes(e.need()), ui.Duration(upTime*2/time.Duration(max(e.cpus, 2))*time.Duration(e.servers())/5))
	if e.virtual {
		fmt.Fprintln(w, "               with KVM; without it processors are emulated, and the seed alone takes a quarter of an hour")
	}
	if e.memory > 0 && uint64(e.need()) > e.memory {
		fmt.Fprintln(w, "  warning      this machine has less memory than that: close other programs, or expect waits")
	}
}
