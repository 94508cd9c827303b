// Package imagetest makes small disk images for tests.
package imagetest

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"math/rand/v2"
)

const clusterBits, cluster = 16, 1 << 16

// Options change what Qcow2 makes.
type Options struct {
	// Compressed clusters.
	Compressed bool
	// BackingFile is named in the header.
	BackingFile string
	// External says that the data is in another file.
	External bool
	// Virtual is the size in the header, 0 for that of the disk.
	Virtual uint64
}

// Disk is a disk of some MiB that is not all zeros and always the same for a
// seed: random bytes, a hole, repeated bytes.
func Disk(seed uint64, mib int) []byte {
	disk := make([]byte, mib<<20)
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	for at := 0; at < len(disk); at += 1 << 20 {
		_, _ = random.Read(disk[at : at+8<<10])
	}
	disk[0], disk[1] = 0xeb, 0x63 // a jump, as boot sectors begin
	for at := len(disk) / 2; at < len(disk)*3/4; at++ {
		disk[at] = byte(at / 512)
	}
	return disk
}

// Qcow2 is a qcow2 image of a disk.
func Qcow2(disk []byte, o Options) []byte {
	clusters := (len(disk) + cluster - 1) / cluster
	tables := (clusters + cluster/8 - 1) / (cluster / 8)
	l1 := make([]uint64, tables)
	var data []byte
	base := (2 + tables) * cluster // header, L1, L2 tables
	l2 := make([]uint64, tables*cluster/8)
	for n := range clusters {
		piece := make([]byte, cluster)
		copy(piece, disk[n*cluster:])
		if bytes.Count(piece, []byte{0}) == cluster {
			continue
		}
		at := uint64(base + len(data))
		if packed := deflate(piece); o.Compressed && len(packed) < cluster {
			sectors := (at%512 + uint64(len(packed)) + 511) / 512
			l2[n] = 1<<62 | at | (sectors-1)<<(62-(clusterBits-8))
			data = append(data, packed...)
			continue
		}
		if pad := len(data) % cluster; pad > 0 {
			data = append(data, make([]byte, cluster-pad)...)
			at = uint64(base + len(data))
		}
		l2[n] = 1<<63 | at
		data = append(data, piece...)
	}
	out := append(header(uint64(len(disk)), tables, o), make([]byte, base)...)[:base]
	for n := range l1 {
		l1[n] = 1<<63 | uint64((2+n)*cluster)
		binary.BigEndian.PutUint64(out[cluster+8*n:], l1[n])
	}
	for n, entry := range l2 {
		binary.BigEndian.PutUint64(out[2*cluster+8*n:], entry)
	}
	return append(append(out, data...), make([]byte, cluster)...) // compressed clusters may be read beyond their end
}

func header(size uint64, tables int, o Options) []byte {
	if o.Virtual > 0 {
		size = o.Virtual
	}
	h := make([]byte, 512)
	copy(h, "QFI\xfb")
	be := binary.BigEndian
	be.PutUint32(h[4:], 3)
	if o.BackingFile != "" {
		be.PutUint64(h[8:], 256)
		be.PutUint32(h[16:], uint32(len(o.BackingFile)))
		copy(h[256:], o.BackingFile)
	}
	be.PutUint32(h[20:], clusterBits)
	be.PutUint64(h[24:], size)
	be.PutUint32(h[36:], uint32(tables))
	be.PutUint64(h[40:], cluster)
	if o.External {
		be.PutUint64(h[72:], 1<<2)
	}
	be.PutUint32(h[96:], 4)
	be.PutUint32(h[100:], 104)
	return h
}

func deflate(piece []byte) []byte {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.DefaultCompression)
	_, _ = w.Write(piece)
	_ = w.Close()
	return out.Bytes()
}
