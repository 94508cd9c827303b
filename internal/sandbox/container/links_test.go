package container

import (
	"os"
	"path/filepath"
	"testing"
)

// The sandbox writes into the file systems of images as root. A link in an image
// must not make it write on the host: not through a folder, and not through the
// file itself.
func TestLinksInAnImageLeadNowhere(t *testing.T) {
	t.Parallel()
	host, image := t.TempDir(), t.TempDir()
	victim := filepath.Join(host, "hostname")
	for path, text := range map[string]string{victim: "the host's"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"folder": host, "up": "../" + filepath.Base(host), "file": victim} {
		if err := os.Symlink(target, filepath.Join(image, link)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(image)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, file := range []string{"folder/hostname", "up/hostname", "folder/new", "../" + filepath.Base(host) + "/new"} {
		if err := put(root, file, []byte("pwned"), 0o644); err == nil {
			t.Errorf("%s was written", file)
		}
	}
	if err := put(root, "file", []byte("the machine's"), 0o644); err != nil { // the link itself is replaced
		t.Errorf("file: %v", err)
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "the host's" {
		t.Errorf("the host's file is %q (%v)", text, err)
	}
	if entries, err := os.ReadDir(host); err != nil || len(entries) != 1 {
		t.Errorf("on the host: %v (%v)", entries, err)
	}
}
