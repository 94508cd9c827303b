package bootdisk

import (
	"fmt"
	"io"
	"strings"
)

// FindRoot finds the partition with the root file system: the one that its type
// or its name calls so, else the largest of those that hold a Linux file system.
// ErrNoTable says that the disk has no partitions, ErrNoRoot what there is
// instead.
func FindRoot(disk io.ReaderAt, size int64) (Partition, error) {
	list, err := Partitions(disk, size)
	if err != nil {
		return Partition{}, err
	}
	var found Partition
	best := 0
	for _, p := range list {
		if rank := rank(p); rank > best || rank == best && rank > 0 && p.Length > found.Length {
			found, best = p, rank
		}
	}
	if best == 0 {
		return Partition{}, fmt.Errorf("%w: the disk has %s", ErrNoRoot, names(list))
	}
	return found, nil
}

// rank says how well a partition fits as the root, 0 not at all.
func rank(p Partition) int {
	switch name := strings.ToLower(p.Name); {
	case p.Type == TypeRootAMD64, p.Type == TypeRootARM64:
		return 3
	case p.Type == TypeLinux && (name == "root" || strings.HasSuffix(name, "-root") || strings.HasSuffix(name, "-rootfs")):
		return 2
	case p.Type == TypeLinux, p.Type == "mbr:83":
		return 1
	}
	return 0
}

// names says what partitions are, for people.
func names(list []Partition) string {
	known := map[string]string{
		TypeBIOSBoot: "a BIOS boot partition", TypeESP: "an EFI system partition", "mbr:ef": "an EFI system partition",
		TypeLVM: "LVM, in which Slipway looks for no root", "mbr:8e": "LVM, in which Slipway looks for no root",
		"0657fd6d-a4ab-43c4-84e5-0933c84b4f4f": "swap space", "mbr:82": "swap space",
		"ebd0a0a2-b9e5-4433-87c0-68b6b72699c7": "a Windows file system", "mbr:07": "a Windows file system",
		"a19d880f-05fc-4d3b-a006-743f0f84911e": "software RAID", "mbr:fd": "software RAID",
	}
	var all []string
	for _, p := range list {
		what, ok := known[p.Type]
		if !ok {
			what = "type " + p.Type
		}
		all = append(all, fmt.Sprintf("%d: %s", p.Number, what))
	}
	return strings.Join(all, ", ")
}

// espLimit is how much of an EFI system partition is looked at, in bytes.
const espLimit = 64 << 20

// EFILoaders lists the boot loaders of an EFI system partition that firmware looks
// for on a disk that it does not know, of all processors, by their entries in
// folders: those begin at multiples of 32 bytes, whatever kind of FAT it is.
func EFILoaders(disk io.ReaderAt, p Partition) []string {
	names := map[string]string{"BOOTX64 EFI": "BOOTX64.EFI", "BOOTAA64EFI": "BOOTAA64.EFI", "BOOTIA32EFI": "BOOTIA32.EFI", "BOOTARM EFI": "BOOTARM.EFI"}
	seen := map[string]bool{}
	var found []string
	buffer := make([]byte, 1<<20)
	for at := int64(0); at < min(p.Length, espLimit); at += int64(len(buffer)) {
		n, err := disk.ReadAt(buffer[:min(int64(len(buffer)), p.Length-at)], p.Offset+at)
		for i := 0; i+32 <= n; i += 32 {
			if name := names[string(buffer[i:i+11])]; name != "" && !seen[name] {
				seen[name] = true
				found = append(found, name)
			}
		}
		if err != nil {
			break
		}
	}
	return found
}
