package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrUnsafe says that an image would make its host read other files, or cannot
// be read without a secret: it is never uploaded.
var ErrUnsafe = errors.New("the image is not self-contained")

// The incompatible features of qcow2 (docs/interop/qcow2.txt of QEMU).
const (
	featureCorrupt  = 1 << 1
	featureExternal = 1 << 2
	featuresKnown   = 0x1f
)

// maxL1 bounds the first table, which is read into memory at once, in entries:
// enough for 64 GiB in the smallest clusters, 1 PiB in usual ones.
const maxL1 = 1 << 21

// extensionData is the header extension that names an external data file.
const extensionData = 0x44415441

// CheckQcow2 reads the head of a qcow2 image and returns the size of its disk
// in bytes. It refuses what names other files (CVE-2015-5163, CVE-2024-32498),
// encryption, and headers that cannot be.
func CheckQcow2(head []byte) (int64, error) {
	if len(head) < 72 {
		return 0, errors.New("the qcow2 header is cut off")
	}
	u32 := func(at int) uint32 { return binary.BigEndian.Uint32(head[at:]) }
	u64 := func(at int) uint64 { return binary.BigEndian.Uint64(head[at:]) }
	version, clusterBits, size := u32(4), u32(20), u64(24)
	switch {
	case version != 2 && version != 3:
		return 0, fmt.Errorf("qcow2 version %d is not supported", version)
	case u64(8) != 0 || u32(16) != 0:
		return 0, fmt.Errorf("%w: it has a backing file, which would be read on the cloud's host", ErrUnsafe)
	case u32(32) != 0:
		return 0, fmt.Errorf("%w: it is encrypted", ErrUnsafe)
	case clusterBits < 9 || clusterBits > 21:
		return 0, fmt.Errorf("invalid cluster size of 2^%d bytes", clusterBits)
	case size == 0 || size > 1<<46:
		return 0, fmt.Errorf("invalid disk size of %d bytes", size)
	case u32(36) > maxL1:
		return 0, fmt.Errorf("invalid table of %d entries", u32(36))
	}
	if version == 2 {
		return checkExtensions(head, 72, int64(size))
	}
	if len(head) < 104 {
		return 0, errors.New("the qcow2 header is cut off")
	}
	features, length := u64(72), u32(100)
	switch {
	case features&featureExternal != 0:
		return 0, fmt.Errorf("%w: its data is in another file, which would be read on the cloud's host", ErrUnsafe)
	case features&featureCorrupt != 0:
		return 0, errors.New("the image is marked as corrupt")
	case features&^featuresKnown != 0:
		return 0, fmt.Errorf("it uses unsupported qcow2 features (%#x)", features&^featuresKnown)
	case length < 104 || length > 4096:
		return 0, fmt.Errorf("invalid header of %d bytes", length)
	}
	return checkExtensions(head, int(length), int64(size))
}

// checkExtensions returns the size if no extension speaks against the image.
func checkExtensions(head []byte, at int, size int64) (int64, error) {
	for range 64 {
		if at+8 > len(head) {
			break
		}
		kind, length := binary.BigEndian.Uint32(head[at:]), binary.BigEndian.Uint32(head[at+4:])
		switch {
		case kind == 0:
			return size, nil
		case kind == extensionData:
			return 0, fmt.Errorf("%w: it has an external data file", ErrUnsafe)
		case length > HeadSize:
			return 0, errors.New("a header extension is too long")
		}
		at += 8 + (int(length)+7)/8*8
	}
	return size, nil
}
