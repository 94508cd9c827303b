// Package disk is what can be done to the bytes of an image on their way:
// unpack, recognise, check, convert, hash, all as streams in constant memory.
package disk

import (
	"bytes"
	"unicode/utf8"
)

// Kind is what a stream of bytes is by its beginning.
type Kind string

// The known kinds.
const (
	Qcow2   Kind = "qcow2"
	Gzip    Kind = "gzip"
	Bzip2   Kind = "bzip2"
	XZ      Kind = "xz"
	Zstd    Kind = "zstd"
	HTML    Kind = "a web page"
	XML     Kind = "an XML document"
	Text    Kind = "text"
	Zip     Kind = "a zip archive"
	Tar     Kind = "a tar archive"
	Vmdk    Kind = "vmdk"
	Vhdx    Kind = "vhdx"
	Vhd     Kind = "vhd"
	Vdi     Kind = "vdi"
	Empty   Kind = "empty"
	Unknown Kind = "unknown"
)

// HeadSize is how many bytes of the beginning Recognise wants.
const HeadSize = 64 << 10

// Recognise tells the kind by the first bytes. A raw disk has no mark of its
// own: it is Unknown.
func Recognise(head []byte) Kind {
	for _, m := range []struct {
		at   int
		mark string
		kind Kind
	}{
		{0, "QFI\xfb", Qcow2}, {0, "\x1f\x8b", Gzip}, {0, "BZh", Bzip2}, {0, "\xfd7zXZ\x00", XZ}, {0, "\x28\xb5\x2f\xfd", Zstd},
		{0, "PK\x03\x04", Zip}, {257, "ustar", Tar}, {0, "KDMV", Vmdk}, {0, "# Disk DescriptorFile", Vmdk}, {0, "vhdxfile", Vhdx},
		{0, "conectix", Vhd}, {64, "\x7f\x10\xda\xbe", Vdi},
	} {
		if len(head) > m.at && bytes.HasPrefix(head[m.at:], []byte(m.mark)) {
			return m.kind
		}
	}
	if len(head) == 0 {
		return Empty
	}
	return words(head[:min(len(head), 512)])
}

// words recognises what people read: a disk begins with a boot sector or with
// zeros, never with half a KiB of printable text.
func words(head []byte) Kind {
	trimmed := bytes.ToLower(bytes.TrimSpace(head))
	switch {
	case bytes.HasPrefix(trimmed, []byte("<!doctype html")), bytes.HasPrefix(trimmed, []byte("<html")):
		return HTML
	case bytes.HasPrefix(trimmed, []byte("<?xml")):
		return XML
	}
	for len(head) > 0 {
		r, size := utf8.DecodeRune(head)
		if r == utf8.RuneError && size <= 1 && len(head) >= utf8.UTFMax || r < ' ' && r != '\n' && r != '\r' && r != '\t' {
			return Unknown
		}
		head = head[max(size, 1):]
	}
	return Text
}

// Compressed says whether Decompress can unpack the kind.
func (k Kind) Compressed() bool { return k == Gzip || k == Bzip2 || k == XZ || k == Zstd }
