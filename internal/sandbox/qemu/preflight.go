package qemu

import (
	"fmt"
	"os"

	"github.com/slipway-sh/slipway/internal/qemu"
	"github.com/slipway-sh/slipway/internal/sandbox/site"
)

// Missing looks for what virtual machines need of the host, and returns what is not
// there. It changes nothing but to load kernel modules that are needed.
func Missing(dir string) []site.Lack {
	if lacks := site.Root(); len(lacks) > 0 {
		return lacks
	}
	try, all := site.TryFolder(dir)
	if try != "" {
		defer os.RemoveAll(try)
		all = append(all, site.MissingNetworks(try)...)
	}
	if tun, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0); err == nil {
		tun.Close()
	} else if !site.Modprobe("tun") {
		all = append(all, site.Lack{What: fmt.Sprintf("tap devices (%v)", err), Without: site.NoMachines, Remedy: site.LoadModule("tun"), Fatal: true})
	}
	tools, lacks := qemu.Find()
	for _, l := range lacks {
		all = append(all, site.Lack{What: l.Tool, Without: site.NoMachines, Remedy: "Install it: apt-get install " + l.Package + ".", Fatal: true})
	}
	if !tools.HasUEFI() {
		all = append(all, site.Lack{What: "OVMF", Without: "Images with the property hw_firmware_type=uefi do not boot; the rest works.",
			Remedy: "Install it: apt-get install ovmf."})
	}
	return all
}
