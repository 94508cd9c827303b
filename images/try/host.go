package try

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/slipway-sh/slipway/internal/qemu"
)

// host is what of this machine is used.
type host struct{ tools qemu.Tools }

// Accelerators lists the values of Options.Accelerator.
func Accelerators() []string { return qemu.Accelerators() }

// findHost looks for the tools. All that is missing comes at once.
func findHost(firmware []Firmware) (host, error) {
	tools, lacks := qemu.Find()
	var all error
	for _, l := range lacks {
		all = errors.Join(all, missing(l.Tool, "install it: apt-get install "+l.Package, "%w", errNoTool))
	}
	if slices.Contains(firmware, UEFI) && !tools.HasUEFI() {
		all = errors.Join(all, missing("OVMF", "install it: apt-get install ovmf, or use --firmware bios", "%w", errNoTool))
	}
	return host{tools}, all
}

// accelerator decides how the machine's processor is made.
func (h host) accelerator(ctx context.Context, wanted string) (string, error) {
	chosen, err := h.tools.Accelerator(ctx, wanted)
	switch {
	case err == nil:
		return chosen, nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("looking for KVM: %w", err)
	}
	return "", missing("KVM", "use --accelerator tcg, which emulates the processor", "%w", err)
}
