package source

import (
	"runtime"

	"github.com/slipway-sh/slipway/internal/bootdisk"
)

// processor is what differs between processors in how machines boot.
type processor struct {
	// Name is as Nova's property architecture has it.
	Name string
	// Kernel and Grub are Debian packages.
	Kernel string
	Grub   []string
	// BIOS and UEFI are GRUB's names of the platforms; BIOS is empty where there is none.
	BIOS, UEFI string
	// EFIName is where firmware looks for a boot loader on a disk that it does not know.
	EFIName string
	// RootType is the type of the root's partition.
	RootType string
	// Loader is the dynamic loader, and Libraries where Debian has libraries.
	Loader, Libraries string
}

// hostProcessor is the processor that bundles are made for: the machine's own.
// Only amd64 has been booted.
func hostProcessor() processor {
	if runtime.GOARCH == "arm64" {
		const libraries = "lib/aarch64-linux-gnu"
		return processor{Name: "aarch64", Kernel: "linux-image-cloud-arm64", Grub: []string{"grub-common", "grub-efi-arm64-bin"},
			UEFI: "arm64-efi", EFIName: "BOOTAA64.EFI", RootType: bootdisk.TypeRootARM64,
			Loader: libraries + "/ld-linux-aarch64.so.1", Libraries: libraries}
	}
	const libraries = "lib/x86_64-linux-gnu"
	return processor{Name: "x86_64", Kernel: "linux-image-cloud-amd64", Grub: []string{"grub-common", "grub-pc-bin", "grub-efi-amd64-bin"},
		BIOS: "i386-pc", UEFI: "x86_64-efi", EFIName: "BOOTX64.EFI", RootType: bootdisk.TypeRootAMD64,
		Loader: libraries + "/ld-linux-x86-64.so.2", Libraries: libraries}
}
