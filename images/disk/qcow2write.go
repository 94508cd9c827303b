package disk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/klauspost/compress/flate"
	"golang.org/x/sync/errgroup"
)

// What WriteQcow2 writes (docs/interop/qcow2.txt of QEMU): version 3, clusters of 64 KiB,
// compressed by deflate, which every QEMU since 0.8.3 reads.
const (
	clusterBits = 16
	clusterSize = 1 << clusterBits
	// l2Entries is how many clusters a table of the second level has, in one cluster.
	l2Entries = clusterSize / 8
	// refcounts is how many counters of 16 bits a block of them has, in one cluster.
	refcounts = clusterSize / 2
	// headerSize is that of version 3 without extensions.
	headerSize = 104
	// window is how far deflate may look back: QEMU's decoder keeps 4 KiB.
	window = 1 << 12

	flagCopied     = 1 << 63
	flagCompressed = 1 << 62
	// sectorBits: the length of a compressed cluster is counted in sectors of 512 bytes, in
	// the bits above the offset.
	sectorBits = 9
	lengthAt   = 62 - (clusterBits - 8)
)

// Qcow2Size bounds a disk that WriteQcow2 takes, in bytes: 4 TiB, of which one cluster holds
// the table of the first level.
const Qcow2Size = int64(l2Entries) * l2Entries * clusterSize

// WriteQcow2 writes a raw disk of size bytes, a multiple of 512, as a compressed qcow2 image, the same bytes for the
// same disk. Zeros take no room. read is called with how many bytes of the disk are done.
func WriteQcow2(ctx context.Context, to io.WriterAt, disk io.ReaderAt, size int64, read func(done int64)) error {
	if size <= 0 || size > Qcow2Size || size%(1<<sectorBits) != 0 {
		return fmt.Errorf("a disk of %d bytes cannot be written as qcow2", size)
	}
	w := newQcow2(to, size)
	for at := int64(0); at < size; {
		batch, err := w.compress(ctx, disk, at, size)
		if err != nil {
			return err
		}
		for _, c := range batch {
			if err := w.place(c, at>>clusterBits); err != nil {
				return err
			}
			at += clusterSize
		}
		read(min(at, size))
	}
	return w.finish(size)
}

// qcow2Writer keeps the tables; the data goes to the file at once.
type qcow2Writer struct {
	to io.WriterAt
	// end is where the next data goes, in bytes.
	end    int64
	l1, l2 []uint64
	// used counts what is in each cluster of the file.
	used []uint16
}

// newQcow2 lays out the header, one cluster of the first level, and all of the second.
func newQcow2(to io.WriterAt, size int64) *qcow2Writer {
	clusters := (size + clusterSize - 1) / clusterSize
	tables := (clusters + l2Entries - 1) / l2Entries
	w := &qcow2Writer{to: to, l1: make([]uint64, tables), l2: make([]uint64, tables*l2Entries), end: (2 + tables) * clusterSize}
	for i := range w.l1 {
		w.l1[i] = uint64(2+i)*clusterSize | flagCopied
	}
	w.count(0, w.end)
	return w
}

// compress packs the next clusters side by side: nil for one of zeros.
func (w *qcow2Writer) compress(ctx context.Context, disk io.ReaderAt, at, size int64) ([][]byte, error) {
	n := min((size-at+clusterSize-1)/clusterSize, int64(16*runtime.GOMAXPROCS(0)))
	batch := make([][]byte, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range batch {
		group.Go(func() (err error) {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			batch[i], err = packCluster(disk, at+int64(i)*clusterSize)
			return err
		})
	}
	return batch, group.Wait()
}

// packCluster returns what is stored of a cluster: nothing if it is all zeros, itself if it
// does not become smaller.
func packCluster(disk io.ReaderAt, at int64) ([]byte, error) {
	plain := make([]byte, clusterSize)
	if _, err := disk.ReadAt(plain, at); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the disk at %d: %w", at, err)
	}
	if plain[0] == 0 && bytes.Equal(plain[1:], plain[:clusterSize-1]) {
		return nil, nil
	}
	var packed bytes.Buffer
	deflate, err := flate.NewWriterWindow(&packed, window)
	if err != nil {
		return nil, err
	}
	if _, err := deflate.Write(plain); err != nil {
		return nil, err
	}
	if err := deflate.Close(); err != nil {
		return nil, err
	}
	if packed.Len() >= clusterSize {
		return plain, nil
	}
	return packed.Bytes(), nil
}

// place writes a cluster of the disk, and notes where it is.
func (w *qcow2Writer) place(data []byte, cluster int64) error {
	if data == nil {
		return nil
	}
	if len(data) == clusterSize {
		w.align()
		w.l2[cluster] = uint64(w.end) | flagCopied
	} else {
		last := w.end + int64(len(data)) - 1
		w.l2[cluster] = uint64(w.end) | uint64(last>>sectorBits-w.end>>sectorBits)<<lengthAt | flagCompressed
	}
	if _, err := w.to.WriteAt(data, w.end); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	w.count(w.end, w.end+int64(len(data)))
	w.end += int64(len(data))
	return nil
}

// align goes on at the next cluster of the file.
func (w *qcow2Writer) align() { w.end = (w.end + clusterSize - 1) &^ (clusterSize - 1) }

// count counts a use of the clusters of the file from one offset to another. Compressed data
// uses whole sectors, which end within the same cluster.
func (w *qcow2Writer) count(from, to int64) {
	for c := from >> clusterBits; c <= (to-1)>>clusterBits; c++ {
		for int64(len(w.used)) <= c {
			w.used = append(w.used, 0)
		}
		w.used[c]++
	}
}

// finish writes the tables and, last, the header: a file that is cut off is no image.
func (w *qcow2Writer) finish(size int64) error {
	w.align()
	table := w.end
	blocks, tableClusters := refcountClusters(table >> clusterBits)
	w.count(table, table+(blocks+tableClusters)*clusterSize)
	offsets := make([]uint64, blocks)
	for i := range offsets {
		offsets[i] = uint64(table + (tableClusters+int64(i))*clusterSize)
	}
	counts := make([]uint16, blocks*refcounts)
	copy(counts, w.used)
	for _, part := range []struct {
		at   int64
		data any
	}{
		{table, pad(offsets, tableClusters)}, {table + tableClusters*clusterSize, counts},
		{clusterSize, pad(w.l1, 1)}, {2 * clusterSize, w.l2}, {0, header(size, len(w.l1), table, tableClusters)},
	} {
		var text bytes.Buffer
		if err := binary.Write(&text, binary.BigEndian, part.data); err != nil {
			return fmt.Errorf("encoding a table: %w", err)
		}
		if _, err := w.to.WriteAt(text.Bytes(), part.at); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
	}
	return nil
}

// refcountClusters is how many clusters the counters of a file take that has so many without
// them, and their table: they count themselves, too.
func refcountClusters(clusters int64) (blocks, table int64) {
	for {
		all := clusters + blocks + table
		more, list := (all+refcounts-1)/refcounts, (blocks*8+clusterSize-1)/clusterSize
		if more == blocks && list == table {
			return blocks, table
		}
		blocks, table = more, list
	}
}

// pad fills a table up to whole clusters.
func pad(table []uint64, clusters int64) []uint64 {
	return append(table, make([]uint64, clusters*l2Entries-int64(len(table)))...)
}

// header is that of version 3.
func header(size int64, l1 int, refcountTable, refcountClusters int64) any {
	return struct {
		Magic, Version         uint32
		Backing                uint64
		BackingSize, Bits      uint32
		Size                   uint64
		Encryption, L1Size     uint32
		L1, Refcounts          uint64
		RefcountSize, Snaps    uint32
		Snapshots              uint64
		Incompatible           uint64
		Compatible, Autoclear  uint64
		RefcountOrder, Length  uint32
		ExtensionEnd, Reserved uint32
	}{Magic: 0x514649fb, Version: 3, Bits: clusterBits, Size: uint64(size), L1Size: uint32(l1), L1: clusterSize, Refcounts: uint64(refcountTable),
		RefcountSize: uint32(refcountClusters), RefcountOrder: 4, Length: headerSize}
}
