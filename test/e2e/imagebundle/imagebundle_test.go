package imagebundle_test

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/test/e2e/imagebundle"
)

// TestWrite reads an image out of the bundle again.
func TestWrite(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(from, "below"), 0o755), os.WriteFile(filepath.Join(from, "program"), []byte("one"), 0o755),
		os.WriteFile(filepath.Join(from, "below", "text"), []byte("two"), 0o644)); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "images")
	err := imagebundle.Write(t.Context(), dir, imagebundle.Image{Ref: "quay.io/one/two", Version: "v1.0.0", Entrypoint: []string{"/bin/program"}, User: "7", Env: []string{"A=b"},
		Files: map[string]string{"/bin/program": filepath.Join(from, "program"), "/etc": from}, Links: map[string]string{"/bin/other": "program"}, Writable: []string{"/status"}})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	item := folder.Bill().Item("two")
	if item == nil || item.Ref != "quay.io/one/two:v1.0.0" {
		t.Fatalf("the bundle has %+v", folder.Bill().Items)
	}
	image, err := folder.Image(*item)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if of := config.Config; of.User != "7" || len(of.Env) != 2 || of.Env[1] != "A=b" || fmt.Sprint(of.Entrypoint) != "[/bin/program]" {
		t.Errorf("configured with %+v", of)
	}
	files := mutate.Extract(image)
	defer files.Close()
	want := map[string]string{"bin/program": "-rwxr-xr-x one", "etc/program": "-rwxr-xr-x one", "etc/below/text": "-rw-r--r-- two", "bin/other": "Lrwxrwxrwx ", "status": "drwxrwxrwx "}
	if got := read(t, files); !maps.Equal(got, want) {
		t.Errorf("the image has %q", got)
	}
}

// read has the mode and text of each file, by its path.
func read(t *testing.T, archive io.Reader) map[string]string {
	t.Helper()
	all := map[string]string{}
	for r := tar.NewReader(archive); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Clean(header.Name)] = fmt.Sprintf("%s %s", header.FileInfo().Mode(), text)
	}
}
