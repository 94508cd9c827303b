package imagestore

import (
	"os"
	"path/filepath"
	"testing"
)

// Images go when nothing needs them, and with them halves that a killed process left.
func TestDrop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := New(filepath.Join(dir, "kept"))
	if err := s.Drop(nil); err != nil {
		t.Errorf("nothing was kept: %v", err)
	}
	image := filepath.Join(dir, "image")
	if err := os.WriteFile(image, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	name, err := s.Keep(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	half := s.File(name) + ".part"
	for _, used := range []bool{true, false} {
		if err := os.WriteFile(half, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Drop(map[string]bool{name: used}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(s.File(name)); (err == nil) != used {
			t.Errorf("used: %t: %v", used, err)
		}
		if _, err := os.Stat(half); err == nil {
			t.Error("half an image is left")
		}
	}
}
