package try

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/qemu"
)

// stopper cancels the trial at the first event that has a word.
type stopper struct {
	word   string
	cancel func()
}

func (s stopper) Emit(e event.Event) {
	if strings.Contains(e.Message, s.word) {
		s.cancel()
	}
}

// An interrupt ends QEMU at once, and leaves no file.
func TestAnInterruptLeavesNothing(t *testing.T) {
	t.Parallel()
	if _, err := findHost([]Firmware{BIOS}); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begin := time.Now()
	_, err := Run(ctx, Options{File: diskFile(t, "BOOTX64.EFI"), Firmware: []Firmware{BIOS}, Accelerator: qemu.TCG, TempDir: dir,
		Timeout: time.Hour, Sink: stopper{string(FirmwareStarted), cancel}})
	if !errors.Is(err, context.Canceled) || time.Since(begin) > time.Minute {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	if fault.ExitCode(err) != fault.ExitInterrupted || fault.Remedy(err) != repeat {
		t.Errorf("exit code %d, fix: %s", fault.ExitCode(err), fault.Remedy(err))
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, c := range commands {
		if text, _ := os.ReadFile(c); strings.Contains(string(text), dir) {
			t.Errorf("QEMU still runs: %s", c)
		}
	}
}

// An image that never gets further is given up when its time is over.
func TestATrialHasAnEnd(t *testing.T) {
	t.Parallel()
	if _, err := findHost([]Firmware{BIOS}); err != nil {
		t.Skip(err)
	}
	// A boot sector that waits for ever: "jmp $".
	disk := make([]byte, 1<<20)
	copy(disk, []byte{0xeb, 0xfe})
	disk[450], disk[454], disk[458], disk[510], disk[511] = 0x83, 1, 8, 0x55, 0xaa
	report, err := Run(t.Context(), Options{File: write(t, disk), Firmware: []Firmware{BIOS}, Accelerator: qemu.TCG, TempDir: t.TempDir(), Timeout: 4 * time.Second})
	if err == nil || len(report.Boots) != 1 || report.Boots[0].Reason != TimedOut || !strings.Contains(report.Boots[0].Cause, "it waited for: ") {
		t.Errorf("%v, %+v", err, report)
	}
}

// A device that hangs is tried once more by emulation only; everything else is final.
func TestAnEmulatedDeviceThatHungIsTriedOnceMore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		accelerator string
		reasons     []Reason // of the attempts, one after the other
		attempts    int
	}{
		"hung once":    {qemu.TCG, []Reason{DeviceHung, ""}, 2},
		"hung twice":   {qemu.TCG, []Reason{DeviceHung, DeviceHung, ""}, 2},
		"hung by KVM":  {qemu.KVM, []Reason{DeviceHung, ""}, 1},
		"panicked":     {qemu.TCG, []Reason{KernelPanic, ""}, 1},
		"passed":       {qemu.TCG, []Reason{""}, 1},
		"other reason": {qemu.TCG, []Reason{DeviceHung, KernelPanic, ""}, 2},
	} {
		calls := 0
		b, err := again(test.accelerator, func() (Boot, error) {
			calls++
			return Boot{Reason: test.reasons[calls-1]}, nil
		})
		if err != nil || calls != test.attempts || b.Attempts != calls || b.Reason != test.reasons[calls-1] {
			t.Errorf("%s: %d attempts, %+v (%v)", name, calls, b, err)
		}
	}
}
