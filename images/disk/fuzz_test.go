package disk

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/slipway-sh/slipway/images/imagetest"
)

// FuzzQcow2 reads anything as a qcow2 image. What passes the check of the head
// names no other file, and is read to its end or to an error.
func FuzzQcow2(f *testing.F) {
	disk := imagetest.Disk(1, 1)[:128<<10]
	for _, o := range []imagetest.Options{{}, {Compressed: true}, {BackingFile: "/etc/shadow"}, {External: true}, {Virtual: 1 << 50}} {
		image := imagetest.Qcow2(disk, o)
		f.Add(image)
		f.Add(image[:len(image)/2])
		f.Add(image[:110])
	}
	f.Fuzz(func(t *testing.T, image []byte) {
		size, err := CheckQcow2(image[:min(len(image), HeadSize)])
		if err != nil {
			return
		}
		if size <= 0 || size > 1<<46 {
			t.Fatalf("a disk of %d bytes", size)
		}
		r, err := RawReader(t.Context(), bytes.NewReader(image))
		if err != nil {
			return
		}
		defer r.Close()
		if n, err := io.Copy(io.Discard, io.LimitReader(r, 4<<20)); err == nil && n != min(size, 4<<20) {
			t.Errorf("%d bytes of a disk of %d", n, size)
		}
	})
}

// FuzzDecompress unpacks anything, up to a bound.
func FuzzDecompress(f *testing.F) {
	for _, kind := range []Kind{Gzip, Zstd, XZ} {
		f.Add(packed(f, kind, []byte("the bytes of a disk")))
		f.Add(packed(f, kind, make([]byte, 1<<20)))
	}
	f.Add([]byte("BZh91AY&SY"))
	f.Add([]byte("QFI\xfb"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		kind := Recognise(data[:min(len(data), HeadSize)])
		if !kind.Compressed() {
			return
		}
		r, err := Decompress(bytes.NewReader(data), kind)
		if err != nil {
			return
		}
		defer r.Close()
		const most = 4 << 20
		n, err := io.Copy(io.Discard, Bound(r, most))
		if n > most || n == most+1 && !errors.Is(err, ErrTooLarge) {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}
