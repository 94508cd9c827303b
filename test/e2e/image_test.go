package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/images/try"
	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// bootTime bounds one boot by emulation on a busy machine: four to five minutes were
// measured on two processors with ten jobs.
const bootTime = 15 * time.Minute

// milestones writes them to the test's log as they come.
type milestones struct{ *testing.T }

func (m milestones) Emit(e event.Event) { m.Logf("%s: %s %s", e.Step, e.Message, e.Error) }

// TestNodeImageBoots starts the bundle's node image in QEMU by both kinds of firmware.
func TestNodeImageBoots(t *testing.T) {
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("TestBothKindsOfFirmwareStartTheNodeImage boots it as far as CI has time: set SLIPWAY_PROOFS=1")
	}
	for _, firmware := range []try.Firmware{try.BIOS, try.UEFI} {
		t.Run(string(firmware), func(t *testing.T) { bootNode(t, firmware) })
	}
}

// bootNode boots the node image to the end of cloud-init and to SSH, with a root that has
// grown and no unit that failed.
func bootNode(t *testing.T, firmware try.Firmware) {
	t.Helper()
	file := filepath.Join(bundleDir(t), "machines", "node.raw")
	before := left(t)
	report, err := try.Run(t.Context(), try.Options{File: file, Firmware: []try.Firmware{firmware},
		Accelerator: "auto", Timeout: bootTime, TempDir: t.TempDir(), Sink: milestones{t}})
	if err != nil {
		for _, b := range report.Boots {
			t.Logf("console by %s:\n%s", b.Firmware, strings.Join(b.Console, "\n"))
		}
		t.Fatal(err)
	}
	for _, b := range report.Boots {
		if len(b.Milestones) != len(try.Milestones()) || !b.Passed || b.RootBytes <= report.DiskBytes || len(b.FailedUnits) > 0 {
			t.Errorf("%+v", b)
		}
	}
	if after := left(t); !slices.Equal(before, after) {
		t.Errorf("QEMU still runs: %v", after)
	}
}

// TestBothKindsOfFirmwareStartTheNodeImage interrupts trials when the init of the image runs:
// they end at once, as interrupted, and leave nothing. The machines of other tests boot the
// same image to its end, but without its boot loader and kernel.
func TestBothKindsOfFirmwareStartTheNodeImage(t *testing.T) {
	for _, firmware := range []try.Firmware{try.BIOS, try.UEFI} {
		t.Run(string(firmware), func(t *testing.T) { startNode(t, firmware) })
	}
}

func startNode(t *testing.T, firmware try.Firmware) {
	t.Helper()
	file, dir, before := filepath.Join(bundleDir(t), "machines", "node.raw"), t.TempDir(), left(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sink := &until{milestones: milestones{t}, prefix: string(try.InitStarted) + " after", reached: cancel}
	_, err := try.Run(ctx, try.Options{File: file, Firmware: []try.Firmware{firmware},
		Accelerator: "auto", Timeout: bootTime, TempDir: dir, Sink: sink})
	if fault.ExitCode(err) != fault.ExitInterrupted || ctx.Err() == nil {
		t.Fatalf("%v; its init runs: %t", err, ctx.Err() != nil)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) > 0 {
		t.Errorf("left: %v", files)
	}
	if after := left(t); !slices.Equal(before, after) {
		t.Errorf("QEMU still runs: %v", after)
	}
}

// until calls reached for the first milestone with a prefix.
type until struct {
	milestones
	prefix  string
	reached func()
}

func (u *until) Emit(e event.Event) {
	u.milestones.Emit(e)
	if strings.HasPrefix(e.Message, u.prefix) {
		u.reached()
	}
}

// TestAnImageThatDoesNotBoot: without a boot loader each kind of firmware says so,
// and the report names it.
func TestAnImageThatDoesNotBoot(t *testing.T) {
	bundleDir(t) // it takes QEMU too
	dir := t.TempDir()
	file := filepath.Join(dir, "empty.raw")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 64<<20); err != nil {
		t.Fatal(err)
	}
	report, err := try.Run(t.Context(), try.Options{File: file, Firmware: []try.Firmware{try.BIOS, try.UEFI},
		Accelerator: "auto", Timeout: bootTime, TempDir: dir, Sink: milestones{t}})
	if fault.ExitCode(err) != fault.ExitFailure || len(report.Boots) != 2 {
		t.Fatalf("%v, %+v", err, report)
	}
	for _, b := range report.Boots {
		if b.Reason != try.NoBootLoader || !strings.Contains(b.Cause, "no partition table") || b.Remedy == "" || len(b.Console) == 0 {
			t.Errorf("%+v", b)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "slipway-try-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// left are the machines of `image try` that run.
func left(t *testing.T) []string {
	t.Helper()
	var all []string
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range processes {
		if text, _ := os.ReadFile(p); strings.Contains(string(text), "qemu") && strings.Contains(string(text), "slipway-try") {
			all = append(all, p)
		}
	}
	return all
}
