package bootdisk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"unicode/utf16"

	"github.com/google/uuid"
)

// ErrNoTable says that a disk has no partition table: it may be a file system
// as a whole.
var ErrNoTable = errors.New("there is no partition table")

// ErrNoRoot says that no partition of a disk can be told to be the root.
var ErrNoRoot = errors.New("no partition is recognized as the root file system")

// Partition is one partition of a disk.
type Partition struct {
	// Number is as in the table, from 1.
	Number int
	// Offset and Length are in bytes.
	Offset, Length int64
	// Type is the type's GUID in lower case; "mbr:83" where the table is an MBR.
	Type string
	// Name is the label in the table, "" where the table is an MBR.
	Name string
}

// Partitions reads the partition table of a disk of so many bytes: a GUID
// partition table, its second copy if the first is damaged, or an MBR. The
// content is trusted with nothing: every number is checked.
func Partitions(disk io.ReaderAt, size int64) ([]Partition, error) {
	head := make([]byte, 2*sectorSize)
	if _, err := disk.ReadAt(head, 0); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, ErrNoTable
		}
		return nil, fmt.Errorf("reading the partition table: %w", err)
	}
	// A file system of ext's family at the beginning leaves no room for a table.
	ext := make([]byte, 2)
	if _, err := disk.ReadAt(ext, extMagicAt); err == nil && bytes.Equal(ext, extMagic) {
		return nil, ErrNoTable
	}
	if head[mbrMark] != 0x55 || head[mbrMark+1] != 0xaa {
		return nil, ErrNoTable
	}
	list, hidden := mbr(head)
	if !hidden {
		return within(list, size)
	}
	list, err := gpt(disk, size, 1)
	if err != nil {
		var second error
		if list, second = gpt(disk, size, size/sectorSize-1); second != nil {
			return nil, fmt.Errorf("reading the partition table: %w", err)
		}
	}
	return within(list, size)
}

// Where an ext2, ext3 or ext4 file system says what it is.
const extMagicAt = 1024 + 56

var extMagic = []byte{0x53, 0xef}

// mbr reads the four partitions of an MBR; hidden says that it only protects a
// GUID partition table.
func mbr(head []byte) (list []Partition, hidden bool) {
	for i := range 4 {
		entry := head[mbrTable+16*i:]
		kind := entry[4]
		if kind == protective {
			return nil, true
		}
		start, count := int64(binary.LittleEndian.Uint32(entry[8:])), int64(binary.LittleEndian.Uint32(entry[12:]))
		if kind != 0 && count > 0 {
			list = append(list, Partition{Number: i + 1, Offset: start * sectorSize, Length: count * sectorSize, Type: fmt.Sprintf("mbr:%02x", kind)})
		}
	}
	return list, false
}

// gpt reads the GUID partition table whose header is at a sector.
func gpt(disk io.ReaderAt, size, sector int64) ([]Partition, error) {
	header := make([]byte, sectorSize)
	if _, err := disk.ReadAt(header, sector*sectorSize); err != nil {
		return nil, err
	}
	if string(header[:8]) != signature {
		return nil, errors.New("the disk is marked to have a GUID partition table, but has none")
	}
	sum := binary.LittleEndian.Uint32(header[16:])
	put32(header[16:], 0)
	if length := binary.LittleEndian.Uint32(header[12:]); length < headerSize || length > sectorSize || crc32.ChecksumIEEE(header[:length]) != sum {
		return nil, errors.New("the header of the GUID partition table is damaged")
	}
	at, count, each := binary.LittleEndian.Uint64(header[72:]), binary.LittleEndian.Uint32(header[80:]), binary.LittleEndian.Uint32(header[84:])
	if each < entrySize || each > 4096 || count > 1024 || at > uint64(size/sectorSize) {
		return nil, fmt.Errorf("the GUID partition table has %d entries of %d bytes at sector %d, which cannot be", count, each, at)
	}
	list := make([]byte, count*each)
	if _, err := disk.ReadAt(list, int64(at)*sectorSize); err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(list) != binary.LittleEndian.Uint32(header[88:]) {
		return nil, errors.New("the list of the GUID partition table is damaged")
	}
	return gptEntries(list, int(each))
}

func gptEntries(list []byte, each int) ([]Partition, error) {
	var all []Partition
	for i := 0; i+each <= len(list); i += each {
		entry := list[i : i+each]
		kind := guid(entry)
		if kind == uuid.Nil {
			continue
		}
		number := i/each + 1
		first, last := binary.LittleEndian.Uint64(entry[32:]), binary.LittleEndian.Uint64(entry[40:])
		if first == 0 || last < first || last >= 1<<54 {
			return nil, fmt.Errorf("partition %d goes from sector %d to %d, which cannot be", number, first, last)
		}
		name := make([]uint16, nameUnits)
		_ = binary.Read(bytes.NewReader(entry[56:]), binary.LittleEndian, name) // an entry is as long
		all = append(all, Partition{Number: number, Offset: int64(first) * sectorSize, Length: int64(last-first+1) * sectorSize,
			Type: kind.String(), Name: strings.TrimRight(string(utf16.Decode(name)), "\x00")})
	}
	return all, nil
}

func guid(b []byte) uuid.UUID {
	id := uuid.UUID{b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6]}
	copy(id[8:], b[8:16])
	return id
}

// within refuses partitions that end after the disk, as those of a file that was
// cut off do.
func within(list []Partition, size int64) ([]Partition, error) {
	if len(list) == 0 {
		return nil, errors.New("reading the partition table: it has no partitions")
	}
	for _, p := range list {
		if p.Offset < 0 || p.Length <= 0 || p.Offset > size-p.Length {
			return nil, fmt.Errorf("partition %d ends at byte %d, but the disk has only %d: the file is cut off", p.Number, p.Offset+p.Length, size)
		}
	}
	return list, nil
}
