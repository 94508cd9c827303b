package disk

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/slipway-sh/slipway/images/imagetest"
)

// header2 is a header of version 2 with nothing behind it, header3 one of version 3.
func header2() []byte { return imagetest.Qcow2(imagetest.Disk(1, 1), imagetest.Options{})[:72] }

func header3(change func(head []byte)) []byte {
	head := imagetest.Qcow2(imagetest.Disk(1, 1), imagetest.Options{})[:112]
	change(head)
	return head
}

// TestHeadersThatJustCanBe are taken, and those beside them are not.
func TestHeadersThatJustCanBe(t *testing.T) {
	t.Parallel()
	put := func(at int, value uint32) []byte {
		return header3(func(head []byte) { binary.BigEndian.PutUint32(head[at:], value) })
	}
	size := func(bytes uint64) []byte {
		return header3(func(head []byte) { binary.BigEndian.PutUint64(head[24:], bytes) })
	}
	extension := func(kind, length uint32) []byte {
		return header3(func(head []byte) {
			binary.BigEndian.PutUint32(head[104:], kind)
			binary.BigEndian.PutUint32(head[108:], length)
		})
	}
	short := header2()
	short[7] = 2
	for name, test := range map[string]struct {
		head []byte
		want string
	}{
		"version 2 alone":               {short, ""},
		"version 3 alone":               {header3(func([]byte) {})[:104], ""},
		"version 3, cut off":            {header3(func([]byte) {})[:103], "cut off"},
		"clusters of 512 bytes":         {put(20, 9), ""},
		"smaller clusters":              {put(20, 8), "invalid cluster size"},
		"clusters of 2 MiB":             {put(20, 21), ""},
		"larger clusters":               {put(20, 22), "invalid cluster size"},
		"a disk of 64 TiB":              {size(1 << 46), ""},
		"a larger disk":                 {size(1<<46 + 1), "invalid disk size"},
		"no disk":                       {size(0), "invalid disk size"},
		"the largest table":             {put(36, maxL1), ""},
		"a larger table":                {put(36, maxL1+1), "invalid table"},
		"where a backing file is named": {put(12, 256), "a backing file"},
		"how long its name is":          {put(16, 4), "a backing file"},
		"the longest header":            {put(100, 4096), ""},
		"a longer header":               {put(100, 4104), "invalid header"},
		"a shorter header":              {put(100, 96), "invalid header"},
		"marked as corrupt":             {put(76, featureCorrupt), "corrupt"},
		"a feature of the future":       {put(76, 0x20), "unsupported qcow2 features (0x20)"},
		"a data file, at the very end":  {extension(extensionData, 0), "external data file"},
		"the longest extension":         {extension(1, HeadSize), ""},
		"a longer extension":            {extension(1, HeadSize+1), "too long"},
	} {
		if _, err := CheckQcow2(test.head); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestTextEndsAnywhere, also within a letter; what is no text is no text also in its last bytes.
func TestTextEndsAnywhere(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]Kind{"gr\xc3": Text, "line\r\n\tline": Text, "words \xff and more": Unknown, "words\xff123": Unknown, "bell\a": Unknown} {
		if got := Recognise([]byte(head)); got != want {
			t.Errorf("%q: %s", head, got)
		}
	}
}

// TestWhatIsUnpacked is exactly what Decompress takes.
func TestWhatIsUnpacked(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind]bool{Gzip: true, Bzip2: true, XZ: true, Zstd: true, Qcow2: false, Zip: false, Unknown: false, Empty: false} {
		if kind.Compressed() != want {
			t.Errorf("%s: %t", kind, kind.Compressed())
		}
		if _, err := Decompress(strings.NewReader(""), kind); !want && (err == nil || !strings.Contains(err.Error(), "not a supported compression")) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestMemoryOfXZStreams: 64 MiB are allowed, and what does not say how much it wants is refused.
func TestMemoryOfXZStreams(t *testing.T) {
	t.Parallel()
	wants := func(bits byte) []byte {
		stream := packed(t, XZ, []byte("x"))
		stream[bytes.Index(stream, []byte{0x21, 1})+2] = bits
		return stream
	}
	other := wants(0)
	other[bytes.Index(other, []byte{0x21, 1})] = 4
	// The mark is in the last two bytes of the block's header: where the size would be, there is none.
	end := append(bytes.Repeat([]byte{9}, 12), 1, 0, 9, 9, 9, 9, 0x21, 1)
	for name, test := range map[string]struct {
		stream []byte
		want   string
	}{
		"64 MiB": {wants(28), ""}, "96 MiB": {wants(29), "more than 64 MiB"}, "4 GiB": {wants(40), "more than 64 MiB"}, "a size that there is not": {wants(41), "more than 64 MiB"},
		"another filter": {other, "other filters"}, "no size": {end, "other filters"}, "no blocks": {make([]byte, 14), ""}, "cut off": {wants(28)[:13], "unexpected EOF"}, "cut off in a block": {wants(28)[:20], "unexpected EOF"},
	} {
		if err := checkDictionary(bufio.NewReader(bytes.NewReader(test.stream))); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// once breaks a single time, and then says that all has been read.
type once struct{ err error }

func (o *once) Read([]byte) (int, error) {
	err := o.err
	o.err = io.EOF
	return 0, err
}

// TestAheadTellsHowItEnded: a source that breaks, at once or with some bytes read, does not look like
// one that ends.
func TestAheadTellsHowItEnded(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		source io.Reader
		bytes  int
		err    error
	}{
		"a short source":           {strings.NewReader("12345"), 5, nil},
		"an empty source":          {strings.NewReader(""), 0, nil},
		"one that breaks once":     {io.MultiReader(strings.NewReader("12345"), &once{broken}), 5, broken},
		"one that is cut off":      {iotest.ErrReader(io.ErrUnexpectedEOF), 0, io.ErrUnexpectedEOF},
		"one that breaks at once":  {&once{broken}, 0, broken},
		"one that is cut off late": {io.MultiReader(strings.NewReader("12345"), iotest.ErrReader(io.ErrUnexpectedEOF)), 5, io.ErrUnexpectedEOF},
	} {
		a := Ahead(t.Context(), test.source)
		got, err := io.ReadAll(a)
		if len(got) != test.bytes || !errors.Is(err, test.err) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRawReaderRefuses what is no qcow2, and what it cannot unpack, with a way out.
func TestRawReaderRefuses(t *testing.T) {
	t.Parallel()
	zstd := imagetest.Qcow2(imagetest.Disk(1, 1), imagetest.Options{})
	binary.BigEndian.PutUint32(zstd[76:], 1<<3) // the kind of compression is told
	binary.BigEndian.PutUint32(zstd[100:], 112)
	zstd[104] = 1
	for want, image := range map[string][]byte{"opening qcow2": []byte("no image"), "keep it as qcow2, or convert it with qemu-img": zstd} {
		if r, err := RawReader(t.Context(), bytes.NewReader(image)); r != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestRawReaderEndsWhereTheDiskEnds, also if that is where a piece ends.
func TestRawReaderEndsWhereTheDiskEnds(t *testing.T) {
	t.Parallel()
	for _, size := range []int{pieceSize, 3 * pieceSize} {
		disk := append(make([]byte, size-512), bytes.Repeat([]byte("x"), 512)...)
		r, err := RawReader(t.Context(), bytes.NewReader(imagetest.Qcow2(disk, imagetest.Options{})))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, disk) {
			t.Errorf("%d bytes of %d: %v", len(got), size, err)
		}
		r.Close()
	}
}

// TestRawReaderTellsWhyItStopped: because the image ends too soon, or because nobody wants it any more.
func TestRawReaderTellsWhyItStopped(t *testing.T) {
	t.Parallel()
	image := imagetest.Qcow2(bytes.Repeat([]byte("x"), 4*pieceSize), imagetest.Options{})
	cut, err := RawReader(t.Context(), bytes.NewReader(image[:len(image)/2]))
	if err != nil {
		t.Fatal(err)
	}
	defer cut.Close()
	if _, err := io.Copy(io.Discard, cut); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut off: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := RawReader(ctx, bytes.NewReader(imagetest.Qcow2(make([]byte, 64*pieceSize), imagetest.Options{})))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestClustersOfOneByteAreKept unless it is zero: only zeros take no room.
func TestClustersOfOneByteAreKept(t *testing.T) {
	t.Parallel()
	for value, stored := range map[byte]bool{0: false, 1: true, 0xff: true} {
		got, err := packCluster(bytes.NewReader(bytes.Repeat([]byte{value}, clusterSize)), 0)
		if err != nil || (got != nil) != stored || len(got) >= clusterSize {
			t.Errorf("%d: %d bytes, %v", value, len(got), err)
		}
	}
}

// fullOnce is a file on a disk that had no room for a moment.
type fullOnce struct{ err error }

func (f *fullOnce) WriteAt(p []byte, _ int64) (int, error) {
	err := f.err
	f.err = nil
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// TestAnImageWithAHoleIsNoImage: what could not be written is an error, even if the rest was.
func TestAnImageWithAHoleIsNoImage(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	if err := WriteQcow2(t.Context(), &fullOnce{full}, bytes.NewReader(sample(512)), 512, func(int64) {}); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

// TestSealedStreamsAreCompleteAtTheirEnd, and not before, and not after a check that failed.
func TestSealedStreamsAreCompleteAtTheirEnd(t *testing.T) {
	t.Parallel()
	wrong := errors.New("other bytes")
	for _, check := range []error{nil, wrong} {
		s := Seal(strings.NewReader("abc"), func() error { return check })
		before := s.Complete()
		if _, err := io.Copy(io.Discard, onlyReader{s}); before || !errors.Is(err, check) || s.Complete() != (check == nil) {
			t.Errorf("check %v: complete %t before and %t after %v", check, before, s.Complete(), err)
		}
	}
}

// TestSumsThatNobodyAskedFor are none.
func TestSumsThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	s := NewSums("sha256")
	_, _ = s.Write([]byte("abc"))
	if s.Hex("sha512") != "" || s.Hex("sha256") != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" || s.Size() != 3 {
		t.Errorf("%q and %q of %d bytes", s.Hex("sha512"), s.Hex("sha256"), s.Size())
	}
}
