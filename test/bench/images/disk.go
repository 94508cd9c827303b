package main

import (
	"bufio"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
)

const cluster = 1 << 16

// writeImages writes a disk of random bytes, and the same as qcow2 whose
// clusters are all there, uncompressed: the most work for a conversion.
func writeImages(raw, qcow2 string, size int64) error {
	out, err := os.Create(raw)
	if err != nil {
		return err
	}
	packed, err := os.Create(qcow2)
	if err != nil {
		return errors.Join(err, out.Close())
	}
	both := bufio.NewWriterSize(io.MultiWriter(out, packed), 1<<20)
	err = writeTables(packed, size)
	if err == nil {
		_, err = io.CopyN(both, rand.NewChaCha8([32]byte{1}), size)
	}
	return errors.Join(err, both.Flush(), out.Close(), packed.Close())
}

// writeTables writes what comes before the clusters: header, first table,
// second tables.
func writeTables(w io.Writer, size int64) error {
	clusters := int((size + cluster - 1) / cluster)
	tables := (clusters + cluster/8 - 1) / (cluster / 8)
	head := make([]byte, (2+tables)*cluster)
	be := binary.BigEndian
	copy(head, "QFI\xfb")
	be.PutUint32(head[4:], 3)
	be.PutUint32(head[20:], 16)
	be.PutUint64(head[24:], uint64(size))
	be.PutUint32(head[36:], uint32(tables))
	be.PutUint64(head[40:], cluster)
	be.PutUint32(head[96:], 4)
	be.PutUint32(head[100:], 104)
	for n := range tables {
		be.PutUint64(head[cluster+8*n:], 1<<63|uint64((2+n)*cluster))
	}
	for n := range clusters {
		be.PutUint64(head[2*cluster+8*n:], 1<<63|uint64((2+tables+n)*cluster))
	}
	_, err := w.Write(head)
	return err
}

// sha512 is the digest of a file, "" if it cannot be read: then sync says so.
func (b bench) sha512(name string) string {
	file, err := os.Open(b.path(name))
	if err != nil {
		return ""
	}
	defer file.Close()
	sum := sha512.New()
	if _, err := io.Copy(sum, file); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}
