// Package bundletest gives tests programs out of the images of a built bundle.
package bundletest

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/slipway-sh/slipway/internal/bundle"
)

// Program writes a program of an image to a file and returns its path. It skips
// the test where SLIPWAY_BUNDLE names no built bundle.
func Program(t *testing.T, image, name string) string {
	t.Helper()
	dir := os.Getenv("SLIPWAY_BUNDLE")
	if dir == "" {
		t.Skip("SLIPWAY_BUNDLE names no bundle: run make e2e")
	}
	folder, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	item := folder.Bill().Item(image)
	if item == nil {
		t.Fatalf("the bundle has no image %s", image)
	}
	content, err := folder.Image(*item)
	if err != nil {
		t.Fatal(err)
	}
	files := mutate.Extract(content)
	defer files.Close()
	target := filepath.Join(t.TempDir(), name)
	if err := extract(tar.NewReader(files), name, target); err != nil {
		t.Fatalf("program %s of image %s: %v", name, image, err)
	}
	return target
}

// extract writes the first regular file of a name.
func extract(files *tar.Reader, name, target string) error {
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return os.ErrNotExist
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg || path.Base(header.Name) != name {
			continue
		}
		file, err := os.OpenFile(target, os.O_CREATE|os.O_WRONLY, 0o755)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, files)
		return errors.Join(err, file.Close())
	}
}
