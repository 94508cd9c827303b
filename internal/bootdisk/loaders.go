package bootdisk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrOtherProcessor says that a disk boots, but on another processor.
var ErrOtherProcessor = errors.New("the image is for another processor")

// efiName is the boot loader that UEFI of x86-64 looks for on a disk that it does
// not know (UEFI specification, 3.5.1.1).
const efiName = "BOOTX64.EFI"

// Loaders are the boot loaders that firmware finds on a disk.
type Loaders struct {
	// Table is why the partition table cannot be read, nil if it can.
	Table error
	// BIOS says that the first sector has a program.
	BIOS bool
	// ESP says that there is an EFI system partition, and EFI what EFILoaders finds
	// in it.
	ESP bool
	EFI []string
}

// ReadLoaders looks for boot loaders on a disk of so many bytes.
func ReadLoaders(disk io.ReaderAt, size int64) Loaders {
	var l Loaders
	sector := make([]byte, 512)
	if n, _ := disk.ReadAt(sector, 0); n == len(sector) {
		l.BIOS = sector[510] == 0x55 && sector[511] == 0xaa && len(bytes.Trim(sector[:440], "\x00")) > 0
	}
	var parts []Partition
	if parts, l.Table = Partitions(disk, size); l.Table != nil {
		return l
	}
	for _, p := range parts {
		if p.Type == TypeESP || p.Type == "mbr:ef" {
			l.ESP, l.EFI = true, EFILoaders(disk, p)
		}
	}
	return l
}

// Missing says why firmware of x86-64 finds nothing to boot; nil if it finds a loader.
func (l Loaders) Missing(uefi bool) error {
	if uefi && slices.Contains(l.EFI, efiName) || !uefi && l.BIOS && !l.other() {
		return nil
	}
	return l.Why(uefi)
}

// Why says why firmware found nothing, once it is known that it did not:
// ErrOtherProcessor, ErrNoTable or others.
func (l Loaders) Why(uefi bool) error {
	switch {
	case errors.Is(l.Table, ErrNoTable):
		return fmt.Errorf("%w: the image is a file system, or no disk at all", l.Table)
	case l.Table != nil:
		return l.Table
	case l.other():
		return fmt.Errorf("the EFI system partition has %v, but no %s: %w", l.EFI, efiName, ErrOtherProcessor)
	case uefi && !l.ESP:
		return errors.New("there is no EFI system partition: the image boots by BIOS only")
	case uefi:
		return errors.New("the EFI system partition has no /EFI/BOOT/" + efiName)
	case slices.Contains(l.EFI, efiName):
		return errors.New("there is a boot loader for UEFI, but none for BIOS")
	}
	return errors.New("the first sector of the disk has no boot loader")
}

// other says that all boot loaders for UEFI are for other processors.
func (l Loaders) other() bool { return len(l.EFI) > 0 && !slices.Contains(l.EFI, efiName) }
