package source

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestModuleFolder: a folder of a module lies elsewhere in an image, in one order, without what
// nobody reads there.
func TestModuleFolder(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	for name, text := range map[string]string{"b.h": "b", "lib/a.h": "a", "tests/c.h": "c", "testing.h": "d"} {
		file := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	var archive bytes.Buffer
	tw := tar.NewWriter(&archive)
	if err := (moduleFolder{To: "var/lib/x", Without: []string{"tests/"}}).write(tw, from); err != nil {
		t.Fatal(err)
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for reader := tar.NewReader(&archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, header.Name+":"+string(text))
	}
	const want = "var/: var/lib/: var/lib/x/: var/lib/x/b.h:b var/lib/x/lib/: var/lib/x/lib/a.h:a var/lib/x/testing.h:d"
	if strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
