package bootdisk

import (
	"encoding/binary"
	"hash/crc32"
	"unicode/utf16"

	"github.com/google/uuid"
)

// The fixed numbers of a GUID partition table (UEFI specification, 5.3).
const (
	signature   = "EFI PART"
	headerSize  = 92
	entrySize   = 128
	entries     = 128
	tableSize   = entries * entrySize
	nameUnits   = 36
	protective  = 0xee
	mbrTable    = 446
	mbrMark     = 510
	firstUsable = 2 + tableSize/sectorSize
)

func put16(b []byte, v uint16) { binary.LittleEndian.PutUint16(b, v) }
func put32(b []byte, v uint32) { binary.LittleEndian.PutUint32(b, v) }
func put64(b []byte, v uint64) { binary.LittleEndian.PutUint64(b, v) }

// putGUID writes an identifier in the mixed byte order of UEFI.
func putGUID(b []byte, id uuid.UUID) {
	copy(b, []byte{id[3], id[2], id[1], id[0], id[5], id[4], id[7], id[6]})
	copy(b[8:], id[8:])
}

// table is the protective MBR and both copies of the partition table.
func (d Disk) table() []chunk {
	list := make([]byte, tableSize)
	for i, p := range []struct {
		kind, name  string
		start, size int64
	}{
		{TypeBIOSBoot, "bios", biosStart, biosSize}, {TypeESP, "esp", espStart, espSize}, {d.RootType, "root", RootOffset, d.RootSize},
	} {
		entry := list[i*entrySize:]
		putGUID(entry, uuid.MustParse(p.kind))
		putGUID(entry[16:], d.id(p.name))
		put64(entry[32:], uint64(p.start/sectorSize))
		put64(entry[40:], uint64((p.start+p.size)/sectorSize-1))
		for n, unit := range utf16.Encode([]rune(p.name)) {
			put16(entry[56+2*n:], unit)
		}
	}
	last := Size(d.RootSize)/sectorSize - 1
	const before = tableSize / sectorSize
	return []chunk{
		{mbrTable, protectiveMBR(last)},
		{sectorSize, d.header(list, 1, last, 2)},
		{2 * sectorSize, list},
		{(last - before) * sectorSize, list},
		{last * sectorSize, d.header(list, last, 1, last-before)},
	}
}

// protectiveMBR is the end of sector 0: one partition that hides the disk from
// what knows no GUID partition table.
func protectiveMBR(last int64) []byte {
	b := make([]byte, sectorSize-mbrTable)
	copy(b[1:], []byte{0x00, 0x02, 0x00, protective, 0xff, 0xff, 0xff})
	put32(b[8:], 1)
	put32(b[12:], uint32(min(last, 0xffffffff)))
	copy(b[mbrMark-mbrTable:], []byte{0x55, 0xaa})
	return b
}

// header is a copy of the table's header: where it lies, where the other copy
// lies, and where its list of partitions begins, in sectors.
func (d Disk) header(list []byte, own, other, listAt int64) []byte {
	b := make([]byte, sectorSize)
	copy(b, signature)
	put32(b[8:], 0x00010000)
	put32(b[12:], headerSize)
	put64(b[24:], uint64(own))
	put64(b[32:], uint64(other))
	put64(b[40:], firstUsable)
	put64(b[48:], uint64(max(own, other))-firstUsable+1)
	putGUID(b[56:], d.id("disk"))
	put64(b[72:], uint64(listAt))
	put32(b[80:], entries)
	put32(b[84:], entrySize)
	put32(b[88:], crc32.ChecksumIEEE(list))
	put32(b[16:], crc32.ChecksumIEEE(b[:headerSize]))
	return b
}
