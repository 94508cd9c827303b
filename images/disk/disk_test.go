package disk

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/slipway-sh/slipway/images/imagetest"
)

func TestRecognise(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		head string
		want Kind
	}{
		"qcow2":       {"QFI\xfb\x00\x00", Qcow2},
		"gzip":        {"\x1f\x8b\x08", Gzip},
		"page":        {"\n<!DOCTYPE html><html>", HTML},
		"page, upper": {"<HTML><HEAD>", HTML},
		"S3's error":  {`<?xml version="1.0"?><Error>`, XML},
		"JSON":        {`{"error": "no such image"}`, Text},
		"German text": {"größe", Text},
		"nothing":     {"", Empty},
		"boot sector": {string(imagetest.Disk(1, 1)[:4096]), Unknown},
		"zeros":       {strings.Repeat("\x00", 4096), Unknown},
		"vmdk":        {"KDMV\x01", Vmdk},
		"vdi":         {strings.Repeat("x", 64) + "\x7f\x10\xda\xbe", Vdi},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Recognise([]byte(test.head)); got != test.want {
				t.Errorf("recognised as %q, want %q", got, test.want)
			}
		})
	}
}

func TestDecompress(t *testing.T) {
	t.Parallel()
	want := imagetest.Qcow2(imagetest.Disk(7, 1), imagetest.Options{})
	bz2, err := os.ReadFile(filepath.Join("testdata", "disk.qcow2.bz2"))
	if err != nil {
		t.Fatal(err)
	}
	for kind, packed := range map[Kind][]byte{Gzip: packed(t, Gzip, want), Zstd: packed(t, Zstd, want), XZ: packed(t, XZ, want), Bzip2: bz2} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			if got := Recognise(packed); got != kind {
				t.Fatalf("recognised as %s", got)
			}
			r, err := Decompress(bytes.NewReader(packed), kind)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, want %d (%v)", len(got), len(want), err)
			}
			cut, err := Decompress(bytes.NewReader(packed[:len(packed)*2/3]), kind)
			if err == nil {
				_, err = io.Copy(io.Discard, cut)
			}
			if err == nil {
				t.Error("a stream that was cut off was unpacked")
			}
		})
	}
}

func packed(t testing.TB, kind Kind, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch kind {
	case Gzip:
		w = gzip.NewWriter(&out)
	case Zstd:
		w, err = zstd.NewWriter(&out)
	case XZ:
		w, err = xz.NewWriter(&out)
	}
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestXZThatWantsMemory(t *testing.T) {
	t.Parallel()
	stream := packed(t, XZ, []byte("x"))
	at := bytes.Index(stream, []byte{0x21, 1})
	stream[at+2] = 40 // 4 GiB - 1
	if _, err := Decompress(bytes.NewReader(stream), XZ); err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("a dictionary of 4 GiB: %v", err)
	}
}

func TestCheckQcow2(t *testing.T) {
	t.Parallel()
	disk := imagetest.Disk(1, 1)
	version1 := imagetest.Qcow2(disk, imagetest.Options{})
	version1[7] = 1
	table := imagetest.Qcow2(disk, imagetest.Options{})
	binary.BigEndian.PutUint32(table[36:], 1<<30)
	named := imagetest.Qcow2(disk, imagetest.Options{})
	copy(named[104:], "\x44\x41\x54\x41\x00\x00\x00\x04/etc")
	encrypted := imagetest.Qcow2(disk, imagetest.Options{})
	encrypted[35] = 1
	for name, test := range map[string]struct {
		image  []byte
		unsafe bool
		size   int64
	}{
		"good":            {imagetest.Qcow2(disk, imagetest.Options{}), false, 1 << 20},
		"backing file":    {imagetest.Qcow2(disk, imagetest.Options{BackingFile: "/etc/shadow"}), true, 0},
		"external data":   {imagetest.Qcow2(disk, imagetest.Options{External: true}), true, 0},
		"named data file": {named, true, 0},
		"encrypted":       {encrypted, true, 0},
		"version 1":       {version1, false, 0},
		"cut off":         {version1[:60], false, 0},
		"huge table":      {table, false, 0},
		"huge disk":       {imagetest.Qcow2(disk, imagetest.Options{Virtual: 1 << 50}), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			size, err := CheckQcow2(test.image[:min(len(test.image), HeadSize)])
			if (err == nil) != (test.size > 0) || errors.Is(err, ErrUnsafe) != test.unsafe || size != test.size {
				t.Errorf("size %d (%v)", size, err)
			}
		})
	}
}

func TestRawReader(t *testing.T) {
	t.Parallel()
	disk := append(imagetest.Disk(3, 9), []byte("the end")...)
	for name, o := range map[string]imagetest.Options{"plain": {}, "compressed": {Compressed: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			image := imagetest.Qcow2(disk, o)
			r, err := RawReader(t.Context(), bytes.NewReader(image))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got, err := io.ReadAll(iotest.OneByteReader(io.LimitReader(r, 1000)))
			rest, restErr := io.ReadAll(r)
			if got = append(got, rest...); err != nil || restErr != nil || !bytes.Equal(got, disk) {
				t.Errorf("%d bytes, want %d as on the disk (%v, %v)", len(got), len(disk), err, restErr)
			}
			cut, err := RawReader(t.Context(), bytes.NewReader(image[:len(image)/2]))
			if err != nil {
				t.Fatal(err)
			}
			defer cut.Close()
			if _, err := io.Copy(io.Discard, cut); err == nil {
				t.Error("an image that was cut off was read to its end")
			}
		})
	}
}

// chunks keeps what is written, and the size of the largest part.
type chunks struct {
	bytes.Buffer
	largest int
}

func (c *chunks) Write(p []byte) (int, error) {
	c.largest = max(c.largest, len(p))
	return c.Buffer.Write(p)
}

// room is a writer that breaks after some bytes.
type room struct{ bytes int }

func (r *room) Write(p []byte) (int, error) {
	n := min(len(p), r.bytes)
	if r.bytes -= n; n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

func TestSealedStreamHasNoEndWithoutTheCheck(t *testing.T) {
	t.Parallel()
	wrong := errors.New("other bytes")
	for _, size := range []int{0, 1, pieceSize - 1, pieceSize, pieceSize + 1, 3*pieceSize + 5} {
		data := bytes.Repeat([]byte("ab"), size/2+1)[:size]
		good := Seal(bytes.NewReader(data), func() error { return nil })
		got, err := io.ReadAll(onlyReader{good})
		if err != nil || !bytes.Equal(got, data) || good.Err() != nil {
			t.Errorf("size %d: %d bytes (%v)", size, len(got), err)
		}
		var written chunks
		if _, err := Seal(bytes.NewReader(data), func() error { return nil }).WriteTo(&written); err != nil || !bytes.Equal(written.Bytes(), data) {
			t.Errorf("size %d: wrote %d bytes (%v)", size, written.Len(), err)
		}
		if written.largest > 1<<20 {
			t.Errorf("size %d: a chunk of %d bytes, which uWSGI refuses", size, written.largest)
		}
		full := &room{bytes: size / 2}
		n, err := Seal(bytes.NewReader(data), func() error { return nil }).WriteTo(full)
		if size > 0 && (!errors.Is(err, io.ErrShortWrite) || n != int64(size/2)) {
			t.Errorf("size %d: a writer that broke took %d bytes (%v)", size, n, err)
		}
		bad := Seal(bytes.NewReader(data), func() error { return wrong })
		got, err = io.ReadAll(onlyReader{bad})
		if !errors.Is(err, wrong) || size > 0 && len(got) >= size || !errors.Is(bad.Err(), wrong) {
			t.Errorf("size %d: %d bytes came out before %v", size, len(got), err)
		}
	}
	broken := Seal(io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(io.ErrUnexpectedEOF)), func() error { return nil })
	if got, err := io.ReadAll(onlyReader{broken}); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) > 0 {
		t.Errorf("a stream that broke gave %q (%v)", got, err)
	}
}

func TestAheadPassesEverythingAndErrors(t *testing.T) {
	t.Parallel()
	data := imagetest.Disk(5, 11)
	a := Ahead(t.Context(), iotest.HalfReader(bytes.NewReader(data)))
	defer a.Close()
	if got, err := io.ReadAll(a); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, want %d (%v)", len(got), len(data), err)
	}
	wrong := errors.New("broken")
	b := Ahead(t.Context(), io.MultiReader(bytes.NewReader(data[:5]), iotest.ErrReader(wrong)))
	defer b.Close()
	if got, err := io.ReadAll(b); !errors.Is(err, wrong) || len(got) != 5 {
		t.Errorf("%d bytes (%v)", len(got), err)
	}
}

func TestBound(t *testing.T) {
	t.Parallel()
	if got, err := io.ReadAll(Bound(strings.NewReader("abcd"), 4)); err != nil || string(got) != "abcd" {
		t.Errorf("%q (%v)", got, err)
	}
	if _, err := io.ReadAll(Bound(strings.NewReader("abcde"), 4)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("ended with %v", err)
	}
}

// A temporary file has no name while it is used: nothing is left behind,
// whatever happens to the process.
func TestSpoolLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, err := Spool(strings.NewReader("bytes"), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got := make([]byte, 5)
	if _, err := file.ReadAt(got, 0); err != nil || string(got) != "bytes" {
		t.Errorf("%q (%v)", got, err)
	}
	if _, err := Spool(iotest.ErrReader(errors.New("x")), dir); err == nil {
		t.Error("a broken stream was spooled")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left %v (%v)", entries, err)
	}
}
