package upstream

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"testing"
)

// archiveOf packs entries without a regard for what their names are.
func archiveOf(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, h := range headers {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, h.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// FuzzUnpack reads anything as an archive: the member is a regular file within
// the limit, or there is an error, and no more is unpacked than the bound.
func FuzzUnpack(f *testing.F) {
	f.Add(archiveOf(f, tar.Header{Name: "bin/program", Typeflag: tar.TypeReg, Size: 100}), "bin/program")
	f.Add(archiveOf(f, tar.Header{Name: "./bin/../bin/program", Typeflag: tar.TypeReg, Size: 5000}), "bin/program")
	f.Add(archiveOf(f, tar.Header{Name: "program", Typeflag: tar.TypeSymlink, Linkname: "/etc/shadow"}), "program")
	f.Add(archiveOf(f, tar.Header{Name: "big", Typeflag: tar.TypeReg, Size: 1 << 20}, tar.Header{Name: "program", Typeflag: tar.TypeReg, Size: 1}), "program")
	f.Add([]byte("\x1f\x8b\x08"), "x")
	f.Add([]byte{}, "")
	f.Fuzz(func(t *testing.T, archive []byte, member string) {
		const limit = 4096
		var n int64
		err := unpack(bytes.NewReader(archive), member, limit, func(r io.Reader) (err error) {
			n, err = io.Copy(io.Discard, r)
			return err
		})
		if n > limit {
			t.Errorf("%d bytes of the member, %v", n, err)
		}
	})
}

// An archive of a publisher cannot make a file be read through a link, nor
// unpack without an end.
func TestAnArchivesMemberIsAFileWithinBounds(t *testing.T) {
	t.Parallel()
	for name, archive := range map[string][]byte{
		"a link":                archiveOf(t, tar.Header{Name: "program", Typeflag: tar.TypeSymlink, Linkname: "/etc/shadow"}),
		"a hard link":           archiveOf(t, tar.Header{Name: "program", Typeflag: tar.TypeLink, Linkname: "/etc/shadow"}),
		"a device":              archiveOf(t, tar.Header{Name: "program", Typeflag: tar.TypeChar}),
		"larger than said":      archiveOf(t, tar.Header{Name: "program", Typeflag: tar.TypeReg, Size: 4097}),
		"a bomb in front of it": archiveOf(t, tar.Header{Name: "zeros", Typeflag: tar.TypeReg, Size: 64 << 20}, tar.Header{Name: "program", Typeflag: tar.TypeReg, Size: 1}),
	} {
		taken := false
		err := unpack(bytes.NewReader(archive), "program", 4096, func(io.Reader) error { taken = true; return nil })
		if err == nil || taken {
			t.Errorf("%s: taken %v, %v", name, taken, err)
		}
	}
}
