package qemu

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/process"
)

// The accelerators: how a machine's processor is made.
const (
	KVM  = "kvm"
	TCG  = "tcg"
	Auto = "auto"
)

// Accelerators lists what Accelerator takes.
func Accelerators() []string { return []string{Auto, KVM, TCG} }

// Accelerator chooses KVM or TCG. Auto takes KVM only if a guest has run with it; KVM
// is an error, which says why, if none does.
func (t Tools) Accelerator(ctx context.Context, wanted string) (string, error) {
	if wanted == TCG {
		return TCG, nil
	}
	err := t.kvmWorks(ctx)
	switch {
	case err == nil:
		return KVM, nil
	case wanted == KVM:
		return "", fmt.Errorf("KVM does not work: %w", err)
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	}
	return TCG, nil
}

// kvmWorks says why KVM cannot be used. That /dev/kvm opens is not enough: where
// this machine is a virtual one, it can be there and emulate every instruction.
func (t Tools) kvmWorks(ctx context.Context) error {
	cpus, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return err
	}
	defer cpus.Close()
	if !virtualizes(cpus) {
		return errors.New("the processor has neither of the flags vmx and svm")
	}
	device, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	device.Close()
	return t.probe(ctx, KVM, "host")
}

// virtualizes looks for the flag of hardware virtualization in /proc/cpuinfo.
func virtualizes(cpuinfo io.Reader) bool {
	scanner := bufio.NewScanner(cpuinfo)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if name, value, _ := strings.Cut(scanner.Text(), ":"); strings.TrimSpace(name) == "flags" {
			flags := strings.Fields(value)
			return slices.Contains(flags, "vmx") || slices.Contains(flags, "svm")
		}
	}
	return false
}

// probeTime is how long the guest of the probe may take: a second where its
// instructions run, minutes where they are emulated one by one.
const probeTime = 10 * time.Second

// probeWord is what the guest says when it is done.
const probeWord = "slipway"

// probeCode is a boot sector (testdata/probe.s): it enters 64-bit mode, counts to
// 400 million, does lock cmpxchg16b, which KVM's emulator does not know and every
// Linux kernel needs, and prints probeWord to the first serial port.
const probeCode = "\xfa\xfc\x31\xc0\x8e\xd8\x8e\xc0\x8e\xd0\xbc\x00\x7c\xbf\x00\x10\x66\x31\xc0\xb9\x00\x0c\x66\xf3\xab\x66\xc7\x06\x00\x10\x03\x20" +
	"\x00\x00\x66\xc7\x06\x00\x20\x03\x30\x00\x00\x66\xc7\x06\x00\x30\x83\x00\x00\x00\x0f\x01\x16\xd8\x7c\x0f\x20\xe0\x66\x83\xc8\x20" +
	"\x0f\x22\xe0\x66\xb8\x00\x10\x00\x00\x0f\x22\xd8\x66\xb9\x80\x00\x00\xc0\x0f\x32\x66\x0d\x00\x01\x00\x00\x0f\x30\x0f\x20\xc0\x66" +
	"\x0d\x01\x00\x00\x80\x0f\x22\xc0\xea\x6d\x7c\x08\x00\xb8\x10\x00\x00\x00\x8e\xd8\x8e\xc0\x8e\xd0\xb9\x00\x84\xd7\x17\xff\xc9\x75" +
	"\xfc\xbf\x00\x50\x00\x00\x31\xc0\x31\xd2\xbb\x01\x00\x00\x00\xb9\x02\x00\x00\x00\x48\x89\x07\x48\x89\x47\x08\xf0\x48\x0f\xc7\x0f" +
	"\xbe\xb3\x7c\x00\x00\xba\xf8\x03\x00\x00\xac\xee\x84\xc0\x75\xfa\xf4\xeb\xfd\x73\x6c\x69\x70\x77\x61\x79\x0a\x00\x0f\x1f\x40\x00" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x00\x9a\xaf\x00\xff\xff\x00\x00\x00\x92\xcf\x00\x17\x00\xc0\x7c\x00\x00"

// probe starts the guest and waits for its word.
func (t Tools) probe(ctx context.Context, accelerator, cpu string) error {
	dir, err := os.MkdirTemp("", "slipway-probe-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	disk := make([]byte, 1<<20)
	copy(disk, probeCode)
	disk[510], disk[511] = 0x55, 0xaa
	file := filepath.Join(dir, "disk")
	if err := os.WriteFile(file, disk, 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.System, "-nodefaults", "-no-user-config", "-display", "none", "-accel", accelerator, "-cpu", cpu,
		"-m", "64", "-drive", "if=ide,format=raw,file="+Escape(file), "-monitor", "none", "-serial", "stdio", "-no-reboot")
	cmd.SysProcAttr = process.Bound(false)
	var words strings.Builder
	cmd.Stderr = &words
	serial, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	said := bufio.NewScanner(serial)
	for said.Scan() {
		if strings.Contains(said.Text(), probeWord) {
			cancel()
			_ = cmd.Wait() // killed, as it should be
			return nil
		}
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("a small guest did not get through in %s: its instructions are emulated", probeTime)
	}
	return fmt.Errorf("QEMU ends with it: %v: %s", err, strings.TrimSpace(words.String()))
}
