package source

import (
	"archive/tar"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
)

// An archive cannot write outside the folder that it is unpacked into: not by
// its names, and not through a link that it brings.
func TestArchivesStayInTheirFolder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file, dir := filepath.Join(root, "in.tgz"), filepath.Join(root, "into")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	zip := gzip.NewWriter(out)
	w := tar.NewWriter(zip)
	for _, h := range []tar.Header{
		{Name: "../pwned", Typeflag: tar.TypeReg}, {Name: "a/../../pwned", Typeflag: tar.TypeReg}, {Name: filepath.Join(root, "pwned"), Typeflag: tar.TypeReg},
		{Name: "door", Typeflag: tar.TypeSymlink, Linkname: root}, {Name: "door/pwned", Typeflag: tar.TypeReg},
		{Name: "hard", Typeflag: tar.TypeLink, Linkname: file}, {Name: "good/program", Typeflag: tar.TypeReg, Size: 2},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte("ok")); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []interface{ Close() error }{w, zip, out} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := unpackArchive(file, dir); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "good", "program")); err != nil || string(text) != "ok" {
		t.Errorf("%q, %v", text, err)
	}
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 2 {
		t.Errorf("in the folder around: %v, %v", entries, err)
	}
	if info, err := os.Lstat(filepath.Join(dir, "hard")); err == nil {
		t.Errorf("a hard link was made: %v", info)
	}
}
