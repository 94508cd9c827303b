package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/slipway-sh/slipway/internal/bootdisk"
)

// Fields of ext4 (the kernel's documentation, filesystems/ext4).
const (
	superblockAt     = 1024
	superblockSize   = 1024
	ext4Magic        = 0xef53
	wideDescriptors  = 0x80  // feature 64bit
	metadataSums     = 0x400 // feature metadata_csum
	inodeAccess      = 0x08  // and behind it the time of the last change
	inodeLinks       = 0x1a
	inodeGeneration  = 0x64
	inodeSumLow      = 0x7c
	inodeSumHigh     = 0x82
	inodeChangeMore  = 0x84 // the nanoseconds of the one
	inodeAccessMore  = 0x8c // and of the other
	groupTableLow    = 0x08
	groupFlags       = 0x12
	groupTableHigh   = 0x28
	groupWithoutUsed = 0x1 // no inode of the group is used
)

// ext4 is what has to be known of a file system to find its inodes.
type ext4 struct {
	file                                       *os.File
	start, block, inodes, inodeSize, groupSize int64
	groups                                     int64
	seed                                       uint32
}

// clearTimes sets the times of the last change and of the last access of every
// file in the root of a disk to the epoch: mke2fs copies them from the files of the
// build, where the one cannot be set, and mke2fs itself changes the other.
func clearTimes(disk string) error {
	file, err := os.OpenFile(disk, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	fs, err := openExt4(file)
	for group := int64(0); err == nil && group < fs.groups; group++ {
		err = fs.clearGroup(group)
	}
	return errors.Join(err, file.Close())
}

func openExt4(file *os.File) (*ext4, error) {
	b := make([]byte, superblockSize)
	if _, err := file.ReadAt(b, bootdisk.RootOffset+superblockAt); err != nil {
		return nil, err
	}
	u16 := func(at int) int64 { return int64(binary.LittleEndian.Uint16(b[at:])) }
	u32 := func(at int) int64 { return int64(binary.LittleEndian.Uint32(b[at:])) }
	if u16(0x38) != ext4Magic || u32(0x64)&metadataSums == 0 || u32(0x28) == 0 {
		return nil, errors.New("the root is not an ext4 file system with checksums")
	}
	fs := &ext4{file: file, start: bootdisk.RootOffset, block: 1024 << u32(0x18), inodes: u32(0x28), inodeSize: u16(0x58), groupSize: 32,
		groups: u32(0x00) / u32(0x28), seed: raw32c(0xffffffff, b[0x68:0x78])}
	if u32(0x60)&wideDescriptors != 0 {
		fs.groupSize = u16(0xfe)
	}
	if fs.inodeSize < 256 || fs.groupSize < 64 {
		return nil, fmt.Errorf("inodes of %d bytes and groups of %d", fs.inodeSize, fs.groupSize)
	}
	return fs, nil
}

// clearGroup goes through the inodes of a group.
func (fs *ext4) clearGroup(group int64) error {
	descriptor := make([]byte, fs.groupSize)
	if _, err := fs.file.ReadAt(descriptor, fs.start+fs.block+group*fs.groupSize); err != nil { // blocks of 4096: the first is the superblock's
		return err
	}
	if descriptor[groupFlags]&groupWithoutUsed != 0 {
		return nil
	}
	table := int64(binary.LittleEndian.Uint32(descriptor[groupTableLow:])) | int64(binary.LittleEndian.Uint32(descriptor[groupTableHigh:]))<<32
	inodes := make([]byte, fs.inodes*fs.inodeSize)
	if _, err := fs.file.ReadAt(inodes, fs.start+table*fs.block); err != nil {
		return err
	}
	for i := range fs.inodes {
		if inode := inodes[i*fs.inodeSize : (i+1)*fs.inodeSize]; binary.LittleEndian.Uint16(inode[inodeLinks:]) > 0 {
			clear(inode[inodeAccess : inodeAccess+8])
			clear(inode[inodeChangeMore : inodeChangeMore+4])
			clear(inode[inodeAccessMore : inodeAccessMore+4])
			fs.sum(inode, uint32(group*fs.inodes+i+1))
		}
	}
	_, err := fs.file.WriteAt(inodes, fs.start+table*fs.block)
	return err
}

// sum computes the checksum of an inode, over its number, its generation and all
// of it with the checksum as zero.
func (fs *ext4) sum(inode []byte, number uint32) {
	clear(inode[inodeSumLow : inodeSumLow+2])
	clear(inode[inodeSumHigh : inodeSumHigh+2])
	sum := raw32c(fs.seed, binary.LittleEndian.AppendUint32(nil, number))
	sum = raw32c(raw32c(sum, inode[inodeGeneration:inodeGeneration+4]), inode)
	binary.LittleEndian.PutUint16(inode[inodeSumLow:], uint16(sum))
	binary.LittleEndian.PutUint16(inode[inodeSumHigh:], uint16(sum>>16))
}

// raw32c is CRC-32C without the inversions of the usual one, as ext4 has it.
func raw32c(sum uint32, b []byte) uint32 {
	return ^crc32.Update(^sum, crc32.MakeTable(crc32.Castagnoli), b)
}
