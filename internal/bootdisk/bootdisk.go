// Package bootdisk makes disks that firmware boots, BIOS and UEFI, and finds the
// root file system in disks that others made. It needs no loop device, no mount
// and no root rights: a disk is a file.
//
// A disk has a GUID partition table (UEFI specification, chapter 5) with three
// partitions: a BIOS boot partition for GRUB, an EFI system partition, and the
// root, which is the last so that it can grow. Equal inputs make equal bytes.
package bootdisk

import (
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"
)

// The layout of a disk that Write makes, in bytes.
const (
	sectorSize = 512
	mib        = 1 << 20
	biosStart  = 1 * mib
	biosSize   = 1 * mib
	espStart   = biosStart + biosSize
	espSize    = 64 * mib
	// RootOffset is where the root file system begins.
	RootOffset = espStart + espSize
	// tail is kept for the second copy of the partition table.
	tail = 1 * mib
)

// The types of partitions (UEFI specification, table 5.7; Discoverable
// Partitions Specification; GRUB's manual for its own).
const (
	TypeBIOSBoot  = "21686148-6449-6e6f-744e-656564454649"
	TypeESP       = "c12a7328-f81f-11d2-ba4b-00a0c93ec93b"
	TypeLinux     = "0fc63daf-8483-4772-8e79-3d69d8477de4"
	TypeLVM       = "e6d6d379-f507-44c2-a23c-238f2a3df928"
	TypeRootAMD64 = "4f68bce3-e8cd-4db1-96e7-fbcaf984b709"
	TypeRootARM64 = "b921b045-1df0-41c3-af44-4c6f280d3fae"
)

// Loader is a boot loader that is linked already.
type Loader struct {
	// BootSector and Core are GRUB's boot.img and core.img for BIOS; both are
	// empty where machines have no BIOS.
	BootSector, Core []byte
	// EFI is the program for UEFI, and EFIName the name under which firmware
	// looks for it on a disk that it does not know, such as BOOTX64.EFI.
	EFI     []byte
	EFIName string
}

// Disk is what Write makes.
type Disk struct {
	// ID is what the identifiers of the disk and its partitions follow from.
	ID uuid.UUID
	// RootType is the type of the root partition.
	RootType string
	// RootSize is the size of the root file system in bytes, a multiple of 1 MiB.
	RootSize int64
	Loader   Loader
}

// Size is the size of a disk with a root file system of so many bytes.
func Size(root int64) int64 { return RootOffset + root + tail }

// File is what a disk is written to.
type File interface {
	io.WriterAt
	Truncate(size int64) error
}

// Write makes the disk in an empty file: all but the root file system, for
// which there is a hole at RootOffset.
func Write(file File, d Disk) error {
	if d.RootSize <= 0 || d.RootSize%mib != 0 {
		return fmt.Errorf("making a disk: a root file system of %d bytes: it must have whole MiB", d.RootSize)
	}
	if err := file.Truncate(Size(d.RootSize)); err != nil {
		return fmt.Errorf("making a disk: %w", err)
	}
	esp, err := fatFilesystem(d.Loader, d.id("esp"))
	if err != nil {
		return fmt.Errorf("making the EFI system partition: %w", err)
	}
	parts := append(d.table(), esp...)
	if len(d.Loader.BootSector) > 0 || len(d.Loader.Core) > 0 {
		bios, err := embed(d.Loader.BootSector, d.Loader.Core)
		if err != nil {
			return fmt.Errorf("embedding GRUB: %w", err)
		}
		parts = append(parts, bios...)
	}
	for _, p := range parts {
		if _, err := file.WriteAt(p.bytes, p.at); err != nil {
			return fmt.Errorf("making a disk: %w", err)
		}
	}
	return nil
}

// chunk is bytes at a place of the disk.
type chunk struct {
	at    int64
	bytes []byte
}

// id is the identifier of a part of the disk.
func (d Disk) id(part string) uuid.UUID { return uuid.NewSHA1(d.ID, []byte(part)) }

// bootSize is what of sector 0 is the boot loader's: what follows is the
// identifier and the partition table of an MBR.
const bootSize = 440

// embed does what grub-bios-setup does on a device with a GUID partition table:
// the boot sector learns where core.img begins, and core.img's first sector
// where the rest of it lies.
func embed(boot, core []byte) ([]chunk, error) {
	// Offsets of grub/i386/pc/boot.h.
	const kernelSector, driveCheck, blockList = 0x5c, 0x66, 0x1f4
	if len(boot) != sectorSize || boot[510] != 0x55 || boot[511] != 0xaa {
		return nil, errors.New("boot.img is not a boot sector")
	}
	sectors := (len(core) + sectorSize - 1) / sectorSize
	if sectors < 2 {
		return nil, fmt.Errorf("core.img has only %d bytes", len(core))
	}
	if len(core) > biosSize {
		return nil, fmt.Errorf("core.img has %d bytes, but its partition %d", len(core), biosSize)
	}
	boot, core = append([]byte(nil), boot[:bootSize]...), append([]byte(nil), core...)
	put64(boot[kernelSector:], biosStart/sectorSize)
	boot[driveCheck], boot[driveCheck+1] = 0x90, 0x90 // trust the drive number of the BIOS
	put64(core[blockList:], biosStart/sectorSize+1)
	put16(core[blockList+8:], uint16(sectors-1))
	put16(core[blockList+10:], 0x820) // the segment where GRUB wants it
	return []chunk{{0, boot}, {biosStart, core}}, nil
}
