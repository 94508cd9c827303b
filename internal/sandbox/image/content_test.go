package image

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/iotest"
)

func TestReceiveIsSparse(t *testing.T) {
	t.Parallel()
	bytesOf := make([]byte, 8<<20)
	copy(bytesOf, "begin")
	copy(bytesOf[len(bytesOf)-3:], "end")
	path := filepath.Join(t.TempDir(), "image")
	found, err := receive(t.Context(), path, bytes.NewReader(bytesOf))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(kept, bytesOf) {
		t.Errorf("the file differs from what was sent: %v", err)
	}
	var stat syscall.Stat_t
	if err := syscall.Stat(path, &stat); err != nil {
		t.Fatal(err)
	}
	if used := stat.Blocks * 512; used > 2<<20 {
		t.Errorf("%d bytes are used for an image of zeros", used)
	}
	if found.size != 8<<20 || *found.virtual("raw") != 8<<20 {
		t.Errorf("size %d", found.size)
	}
}

func TestVirtualSize(t *testing.T) {
	t.Parallel()
	header := make([]byte, 64)
	copy(header, "QFI\xfb")
	binary.BigEndian.PutUint32(header[4:], 3)
	binary.BigEndian.PutUint64(header[24:], 10<<30)
	for _, c := range []struct {
		name, format string
		bytes        []byte
		want         int64
	}{
		{"qcow2", "qcow2", header, 10 << 30},
		{"raw", "raw", header, 64},
		{"no qcow2", "qcow2", make([]byte, 64), -1},
		{"short", "qcow2", []byte("QFI\xfb"), -1},
		{"vmdk", "vmdk", header, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found, err := receive(t.Context(), filepath.Join(t.TempDir(), "image"), bytes.NewReader(c.bytes))
			if err != nil {
				t.Fatal(err)
			}
			got := int64(-1)
			if size := found.virtual(c.format); size != nil {
				got = *size
			}
			if got != c.want {
				t.Errorf("virtual size %d, want %d", got, c.want)
			}
		})
	}
}

// A body that broke off is not a whole one, wherever it broke.
func TestReceiveOfABrokenBody(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 100, 256 << 10, 300 << 10} {
		body := io.MultiReader(bytes.NewReader(make([]byte, size)), iotest.ErrReader(io.ErrUnexpectedEOF))
		if found, err := receive(t.Context(), filepath.Join(t.TempDir(), "image"), body); err == nil {
			t.Errorf("%d bytes of a broken body are an image of %d", size, found.size)
		}
	}
}
