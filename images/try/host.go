package try

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// host is what of this machine is used.
type host struct {
	qemu, qemuImage, isoMaker string
	// code and variables are OVMF's, for UEFI.
	code, variables string
}

// The accelerators.
const (
	kvm  = "kvm"
	tcg  = "tcg"
	auto = "auto"
)

// Accelerators lists the values of Options.Accelerator.
func Accelerators() []string { return []string{auto, kvm, tcg} }

// ovmf are the places where distributions have UEFI for virtual machines: the code
// and the first state of its variables.
func ovmf() [][2]string {
	return [][2]string{
		{"/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"},
		{"/usr/share/OVMF/OVMF_CODE.fd", "/usr/share/OVMF/OVMF_VARS.fd"},
		{"/usr/share/edk2/ovmf/OVMF_CODE.fd", "/usr/share/edk2/ovmf/OVMF_VARS.fd"},
		{"/usr/share/edk2/x64/OVMF_CODE.4m.fd", "/usr/share/edk2/x64/OVMF_VARS.4m.fd"},
		{"/usr/share/qemu/ovmf-x86_64-code.bin", "/usr/share/qemu/ovmf-x86_64-vars.bin"},
	}
}

// findHost looks for the tools. All that is missing comes at once.
func findHost(firmware []Firmware) (host, error) {
	var h host
	var all error
	for _, tool := range []struct {
		path    *string
		names   []string
		install string
	}{
		{&h.qemu, []string{"qemu-system-x86_64", "/usr/libexec/qemu-kvm"}, "qemu-system-x86"},
		{&h.qemuImage, []string{"qemu-img"}, "qemu-utils"},
		{&h.isoMaker, []string{"genisoimage", "mkisofs", "xorrisofs"}, "genisoimage"},
	} {
		if *tool.path = lookUp(tool.names); *tool.path == "" {
			all = errors.Join(all, missing(tool.names[0], "install it: apt-get install "+tool.install, "%w", errNoTool))
		}
	}
	if slices.Contains(firmware, UEFI) {
		for _, pair := range ovmf() {
			if exists(pair[0]) && exists(pair[1]) {
				h.code, h.variables = pair[0], pair[1]
				break
			}
		}
		if h.code == "" {
			all = errors.Join(all, missing("OVMF", "install it: apt-get install ovmf, or use --firmware bios", "%w", errNoTool))
		}
	}
	return h, all
}

func lookUp(names []string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// accelerator decides how the machine's processor is made.
func (h host) accelerator(ctx context.Context, wanted string) (string, error) {
	if wanted == tcg {
		return tcg, nil
	}
	err := h.kvmWorks(ctx)
	switch {
	case err == nil:
		return kvm, nil
	case wanted == kvm:
		return "", missing("KVM", "use --accelerator tcg, which emulates the processor", "%w", err)
	}
	return tcg, nil
}

// kvmWorks says why KVM cannot be used. That /dev/kvm opens is not enough: where
// this machine is a virtual one, it can be there and run no usual kernel.
func (h host) kvmWorks(ctx context.Context) error {
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
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.qemu, "-nodefaults", "-no-user-config", "-display", "none", "-machine", "q35", "-accel", "kvm", "-cpu", "host", "-S")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return nil // it stood until it was killed
	}
	return fmt.Errorf("QEMU ends with it: %v: %s", err, strings.TrimSpace(string(out)))
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
