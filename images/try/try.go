// Package try boots a disk image in QEMU on this machine, as a cloud would: with a
// virtio disk that is larger than the image, a configuration drive and a network
// card. It says which milestones the machine reached and when, and why it stopped.
// The image is not changed, and nothing is left.
package try

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/qemu"
)

// Firmware is what starts the boot loader.
type Firmware string

// The kinds of firmware.
const (
	BIOS Firmware = "bios"
	UEFI Firmware = "uefi"
)

// Options say what to boot and how.
type Options struct {
	// File is a raw or qcow2 image.
	File string
	// Firmware are the kinds to boot with, one after the other.
	Firmware []Firmware
	// Accelerator is "kvm", "tcg", or "auto": KVM where it works.
	Accelerator string
	// Timeout bounds each boot; 0 means ten minutes, or three with KVM.
	Timeout time.Duration
	// TempDir is where temporary files lie, "" in the system's folder.
	TempDir string
	// Sink takes the milestones as they come.
	Sink event.Sink
}

// Report is what a trial found.
type Report struct {
	File string `json:"file"`
	// Format is raw or qcow2; DiskBytes is the size of the disk in it.
	Format    string `json:"format"`
	DiskBytes int64  `json:"diskBytes"`
	Boots     []Boot `json:"boots"`
}

// Boot is one start of the machine.
type Boot struct {
	Firmware    Firmware `json:"firmware"`
	Accelerator string   `json:"accelerator"`
	// Attempts is how often the machine was started: a second time if it was emulated and
	// one of its devices hung.
	Attempts   int       `json:"attempts"`
	Passed     bool      `json:"passed"`
	Milestones []Reached `json:"milestones"`
	// Reason is why the boot is not as it should be: one of Reasons, "" if it passed.
	Reason Reason `json:"reason,omitempty"`
	Cause  string `json:"cause,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// RootBytes is the size of the root file system in the machine.
	RootBytes int64 `json:"rootBytes,omitempty"`
	// Node is what the image has of a node of Kubernetes.
	Node Node `json:"node"`
	// FailedUnits are systemd's; they do not fail the trial.
	FailedUnits []string `json:"failedUnits,omitempty"`
	// Console is the end of what the machine printed, if it did not pass.
	Console []string `json:"console,omitempty"`
}

// Reached is a milestone and the seconds from the start of QEMU.
type Reached struct {
	Milestone Milestone `json:"milestone"`
	Seconds   float64   `json:"seconds"`
}

// The longest that a boot may take unless Options say otherwise.
const (
	emulatedTime    = 10 * time.Minute
	acceleratedTime = 3 * time.Minute
)

// again starts a machine a second time if it was emulated and one of its devices hung: QEMU's
// emulation with several processors loses an interrupt now and then, which tells nothing of
// the image. Other accelerators and reasons are final.
func again(accelerator string, boot func() (Boot, error)) (b Boot, err error) {
	for attempt := 1; ; attempt++ {
		b, err = boot()
		b.Attempts = attempt
		if err != nil || b.Reason != DeviceHung || accelerator != qemu.TCG || attempt == 2 {
			return b, err
		}
	}
}

// repeat is the remedy for a trial that was interrupted: a machine cannot be resumed.
const repeat = "run the same command again: a trial always starts from the beginning, and nothing of this one is left"

// Run boots the image. The error is nil if every boot passed; it is a fault with
// fault.ExitPreflight if the image could not be tried, and else that of the
// boots, with the report beside it. An interrupt is a fault with fault.ExitInterrupted.
func Run(ctx context.Context, o Options) (Report, error) {
	report := Report{File: o.File}
	if o.Sink == nil {
		o.Sink = event.Discard{}
	}
	image, imageErr := inspect(o.File)
	host, hostErr := findHost(o.Firmware)
	if err := errors.Join(imageErr, hostErr); err != nil {
		return report, err
	}
	report.Format, report.DiskBytes = image.format, image.size
	accelerator, err := host.accelerator(ctx, o.Accelerator)
	if err != nil {
		return report, err
	}
	if o.Timeout == 0 {
		o.Timeout = emulatedTime
		if accelerator == qemu.KVM {
			o.Timeout = acceleratedTime
		}
	}
	var all error
	for _, firmware := range o.Firmware {
		boot, err := again(accelerator, func() (Boot, error) { return o.boot(ctx, host, image, firmware, accelerator) })
		if ctx.Err() != nil {
			return report, &fault.Fault{Exit: fault.ExitInterrupted, Object: "image " + o.File, Err: context.Cause(ctx), Remedy: repeat}
		}
		if err != nil {
			return report, err
		}
		report.Boots = append(report.Boots, boot)
		all = errors.Join(all, boot.fault(o.File, o.Timeout))
	}
	return report, all
}

// boot starts the machine once.
func (o Options) boot(ctx context.Context, host host, image image, firmware Firmware, accelerator string) (boot Boot, err error) {
	dir, err := os.MkdirTemp(o.TempDir, "slipway-try-")
	if err != nil {
		return boot, fault.New("temporary folder", err, "set TMPDIR to a folder that can be written to")
	}
	defer os.RemoveAll(dir)
	boot = Boot{Firmware: firmware, Accelerator: accelerator}
	name := filepath.Base(o.File) + " by " + string(firmware)
	step := event.Start(o.Sink, name, "starting QEMU ("+accelerator+")")
	m, err := host.start(ctx, dir, image, firmware, accelerator)
	if err != nil {
		step.End("", err)
		return boot, err
	}
	defer m.stop()
	// QEMU has its files open when the machine speaks: even if this process is
	// killed nothing stays.
	w := &watch{console: newConsole(image), machine: m, patience: patience(accelerator), timeout: o.Timeout, spoke: func() { _ = os.RemoveAll(dir) },
		note: func(r Reached, next Milestone) {
			o.Sink.Emit(event.Event{Time: time.Now(), Step: name, State: event.Note, Message: fmt.Sprintf("%s after %.1f s", r.Milestone, r.Seconds)})
			if next != "" {
				step.Wait("waiting for: " + string(next))
			}
		}}
	w.run(ctx)
	w.result(&boot, image)
	if err := context.Cause(ctx); err != nil {
		step.End("", err)
		return boot, err
	}
	step.End(fmt.Sprintf("booted in %.1f s", w.elapsed().Seconds()), boot.fault("", o.Timeout))
	return boot, nil
}

// fault is the error of a boot that did not pass.
func (b Boot) fault(file string, timeout time.Duration) error {
	if b.Passed {
		return nil
	}
	object := string(b.Firmware)
	if file != "" {
		object = fmt.Sprintf("image %s by %s", file, b.Firmware)
	}
	cause := fmt.Errorf("%s: %s", b.Reason, b.Cause)
	if b.Reason == TimedOut {
		return &fault.Fault{Exit: fault.ExitDeadline, Object: object, Err: fmt.Errorf("%w: %w", fault.Deadline{After: timeout}, cause), Remedy: b.Remedy}
	}
	return fault.New(object, cause, cmp.Or(b.Remedy, "read the end of the console in the report (-o json)"))
}
