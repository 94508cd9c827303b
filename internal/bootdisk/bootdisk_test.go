package bootdisk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
)

const rootSize = 4 * mib

// sample is a disk with recognizable parts.
func sample() Disk {
	boot := bytes.Repeat([]byte{0xb0}, sectorSize)
	boot[510], boot[511] = 0x55, 0xaa
	return Disk{ID: uuid.MustParse("5a5a5a5a-0000-4000-8000-00000000000a"), RootType: TypeRootAMD64, RootSize: rootSize,
		Loader: Loader{BootSector: boot, Core: bytes.Repeat([]byte{0xc0}, 3*sectorSize+1), EFI: bytes.Repeat([]byte("EFI program "), 5000), EFIName: "BOOTX64.EFI"}}
}

// write makes a disk in a file and returns its bytes.
func write(t *testing.T, d Disk) (path string, disk []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "disk.raw")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := Write(file, d); err != nil {
		t.Fatal(err)
	}
	if disk, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return path, disk
}

func TestEqualInputsMakeEqualDisks(t *testing.T) {
	t.Parallel()
	_, first := write(t, sample())
	_, second := write(t, sample())
	if !bytes.Equal(first, second) {
		t.Error("two disks of the same inputs differ")
	}
	other := sample()
	other.ID = uuid.MustParse("5a5a5a5a-0000-4000-8000-00000000000b")
	if _, third := write(t, other); bytes.Equal(first, third) {
		t.Error("disks with different identities are equal")
	}
	if len(first) != int(Size(rootSize)) {
		t.Errorf("the disk has %d bytes", len(first))
	}
}

// What a BIOS reads: the boot sector names the sector of core.img, whose first
// sector names the rest.
func TestTheBootSectorLeadsToTheCore(t *testing.T) {
	t.Parallel()
	_, disk := write(t, sample())
	core := binary.LittleEndian.Uint64(disk[0x5c:])
	if core != 2048 || disk[0x66] != 0x90 || disk[0x67] != 0x90 || disk[0] != 0xb0 || disk[439] != 0xb0 {
		t.Errorf("boot sector: core.img at %d, check %x", core, disk[0x66:0x68])
	}
	if disk[510] != 0x55 || disk[511] != 0xaa || disk[mbrTable+4] != protective || disk[445] != 0 {
		t.Error("sector 0 is no protective MBR")
	}
	first := disk[core*sectorSize:]
	if next := binary.LittleEndian.Uint64(first[0x1f4:]); next != core+1 {
		t.Errorf("the rest of core.img at %d", next)
	}
	if count, segment := binary.LittleEndian.Uint16(first[0x1fc:]), binary.LittleEndian.Uint16(first[0x1fe:]); count != 3 || segment != 0x820 {
		t.Errorf("%d sectors to %#x", count, segment)
	}
	if first[0] != 0xc0 || first[3*sectorSize] != 0xc0 || first[3*sectorSize+1] != 0 {
		t.Error("core.img is not whole")
	}
}

func TestTheProgramForUEFIIsThere(t *testing.T) {
	t.Parallel()
	d := sample()
	path, disk := write(t, d)
	at := espStart + (fatData+clusterFile-2)*sectorSize
	if !bytes.Equal(disk[at:at+len(d.Loader.EFI)], d.Loader.EFI) {
		t.Error("the program is not in its clusters")
	}
	if fatClusters <= 65525 || 4*(fatClusters+2) > fatLength*sectorSize {
		t.Errorf("%d clusters are not FAT32, or their table is too short", fatClusters)
	}
	esp := filepath.Join(t.TempDir(), "esp")
	if err := os.WriteFile(esp, disk[espStart:RootOffset], 0o600); err != nil {
		t.Fatal(err)
	}
	// Other programs read what was written, where they are installed.
	if out, ran := tool(t, "fsck.vfat", "-n", "-v", esp); ran && (!strings.Contains(out, "4 files, 121/129022 clusters") || strings.Contains(strings.ToLower(out), "differences")) {
		t.Errorf("fsck.vfat: %s", out)
	}
	if out, ran := tool(t, "mdir", "-b", "-/", "-i", esp); ran && !strings.Contains(out, "::/EFI/BOOT/BOOTX64.EFI") {
		t.Errorf("mdir: %s", out)
	}
	if out, ran := tool(t, "sfdisk", "--verify", path); ran && !strings.Contains(out, "No errors detected") {
		t.Errorf("sfdisk: %s", out)
	}
}

// tool runs a program of another project, if it is there.
func tool(t *testing.T, name string, args ...string) (string, bool) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path = "/sbin/" + name
		if _, err := os.Stat(path); err != nil {
			t.Logf("%s is not installed", name)
			return "", false
		}
	}
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v: %s", name, err, out)
	}
	return string(out), true
}

func TestWhatCannotBeMadeIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Disk)
		want   string
	}{
		"no boot sector":    {func(d *Disk) { d.Loader.BootSector = d.Loader.BootSector[:511] }, "boot.img is not a boot sector"},
		"no mark":           {func(d *Disk) { d.Loader.BootSector[511] = 0 }, "boot.img is not a boot sector"},
		"a short core":      {func(d *Disk) { d.Loader.Core = d.Loader.Core[:512] }, "core.img has only 512 bytes"},
		"a long core":       {func(d *Disk) { d.Loader.Core = make([]byte, biosSize+1) }, "core.img has 1048577 bytes"},
		"no program":        {func(d *Disk) { d.Loader.EFI = nil }, "the program for UEFI is empty"},
		"a large program":   {func(d *Disk) { d.Loader.EFI = make([]byte, espSize) }, "do not fit"},
		"a long name":       {func(d *Disk) { d.Loader.EFIName = "BOOTLOADER.EFI" }, "8 and 3 characters"},
		"half a MiB more":   {func(d *Disk) { d.RootSize += mib / 2 }, "whole MiB"},
		"no root":           {func(d *Disk) { d.RootSize = 0 }, "whole MiB"},
		"no BIOS, but UEFI": {func(d *Disk) { d.Loader.BootSector, d.Loader.Core = nil, nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := sample()
			c.change(&d)
			file, err := os.Create(filepath.Join(t.TempDir(), "disk"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			err = Write(file, d)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestTheRootIsFound(t *testing.T) {
	t.Parallel()
	_, disk := write(t, sample())
	size := int64(len(disk))
	want := Partition{Number: 3, Offset: RootOffset, Length: rootSize, Type: TypeRootAMD64, Name: "root"}
	if p, err := FindRoot(bytes.NewReader(disk), size); err != nil || p != want {
		t.Errorf("%+v, %v; want %+v", p, err, want)
	}
	damaged := bytes.Clone(disk)
	damaged[sectorSize+40]++ // the second copy is used
	if p, err := FindRoot(bytes.NewReader(damaged), size); err != nil || p != want {
		t.Errorf("with a damaged header: %+v, %v", p, err)
	}
	damaged = bytes.Clone(disk)
	damaged[2*sectorSize+2*entrySize+33] ^= 0xff
	if p, err := FindRoot(bytes.NewReader(damaged), size); err != nil || p != want {
		t.Errorf("with a damaged list: %+v, %v", p, err)
	}
	damaged[size-sectorSize+40]++
	if _, err := FindRoot(bytes.NewReader(damaged), size); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("with both copies damaged: %v", err)
	}
	if _, err := FindRoot(bytes.NewReader(disk[:RootOffset+mib]), RootOffset+mib); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("a file that is cut off: %v", err)
	}
}

// ebr is the MBR of a disk with partitions of these types and sizes in sectors.
func ebr(parts ...[2]int) []byte {
	disk := make([]byte, 64*sectorSize)
	disk[mbrMark], disk[mbrMark+1] = 0x55, 0xaa
	start := 1
	for i, p := range parts {
		entry := disk[mbrTable+16*i:]
		entry[4] = byte(p[0])
		put32(entry[8:], uint32(start))
		put32(entry[12:], uint32(p[1]))
		start += p[1]
	}
	return disk
}

func TestDisksOfOthers(t *testing.T) {
	t.Parallel()
	ext := make([]byte, 8*sectorSize)
	copy(ext[extMagicAt:], extMagic)
	ext[mbrMark], ext[mbrMark+1] = 0x55, 0xaa // what mke2fs leaves of an earlier boot sector
	for name, c := range map[string]struct {
		disk   []byte
		number int
		err    error
		say    string
	}{
		"one Linux partition":   {ebr([2]int{0x83, 20}), 1, nil, ""},
		"the larger of two":     {ebr([2]int{0x83, 5}, [2]int{0x83, 20}, [2]int{0x82, 30}), 2, nil, ""},
		"LVM":                   {ebr([2]int{0x8e, 20}), 0, ErrNoRoot, "1: LVM"},
		"Windows":               {ebr([2]int{0xef, 4}, [2]int{0x07, 20}), 0, ErrNoRoot, "1: an EFI system partition, 2: a Windows file system"},
		"beyond the end":        {ebr([2]int{0x83, 64}), 0, nil, "cut off"},
		"no partitions":         {ebr(), 0, nil, "no partitions"},
		"a file system":         {ext, 0, ErrNoTable, ""},
		"zeros":                 {make([]byte, 4096), 0, ErrNoTable, ""},
		"too short for a table": {make([]byte, 100), 0, ErrNoTable, ""},
		"marked, but empty":     {ebr([2]int{protective, 20}), 0, nil, "has none"},
	} {
		p, err := FindRoot(bytes.NewReader(c.disk), int64(len(c.disk)))
		if c.number != 0 && (err != nil || p.Number != c.number) {
			t.Errorf("%s: %+v, %v; want partition %d", name, p, err, c.number)
		}
		if c.number == 0 && (err == nil || c.err != nil && !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.say)) {
			t.Errorf("%s: %v, want %v %q", name, err, c.err, c.say)
		}
	}
}

func TestNamesDecideBetweenLinuxPartitions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, name string
		want       int
	}{
		{TypeRootARM64, "", 3}, {TypeRootAMD64, "x", 3}, {TypeLinux, "root", 2}, {TypeLinux, "cloudimg-rootfs", 2}, {TypeLinux, "p.lxroot", 1},
		{TypeLinux, "", 1}, {"mbr:83", "", 1}, {TypeESP, "root", 0}, {TypeLVM, "", 0},
	} {
		if got := rank(Partition{Type: c.kind, Name: c.name}); got != c.want {
			t.Errorf("%s %q: %d, want %d", c.kind, c.name, got, c.want)
		}
	}
}

// FuzzFindRoot: whatever a disk holds, a partition that is found lies in it.
func FuzzFindRoot(f *testing.F) {
	d := sample()
	table := make([]byte, 40*sectorSize)
	for _, c := range d.table() {
		if c.at+int64(len(c.bytes)) <= int64(len(table)) {
			copy(table[c.at:], c.bytes)
		}
	}
	f.Add(table, int64(100*mib))
	f.Add(ebr([2]int{0x83, 20}), int64(64*sectorSize))
	f.Fuzz(func(t *testing.T, disk []byte, size int64) {
		p, err := FindRoot(bytes.NewReader(disk), size)
		if err == nil && (p.Offset <= 0 || p.Length <= 0 || p.Offset+p.Length > size || p.Offset+p.Length < 0) {
			t.Errorf("found %+v on a disk of %d bytes", p, size)
		}
	})
}
