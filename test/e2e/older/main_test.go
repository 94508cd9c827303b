package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPinsFitTheTree: what this command changes is still there to be changed. Its build takes a
// quarter of an hour, and runs before a release only.
func TestPinsFitTheTree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := []string{"internal/component/versions.go"}
	for _, text := range texts() {
		files = append(files, text[0])
	}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join("../../..", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), text)
	}
	modules := filepath.Join(dir, "internal", "bundle", "source", "modules")
	if err := os.MkdirAll(modules, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := pin(dir); err != nil {
		t.Fatal(err)
	}
	versions, err := os.ReadFile(filepath.Join(dir, files[0]))
	if err != nil {
		t.Fatal(err)
	}
	for name, version := range pins() {
		if !strings.Contains(string(versions), `"`+version+`"`) {
			t.Errorf("%s is not %s:\n%s", name, version, versions)
		}
	}
	if _, err := os.Stat(filepath.Join(modules, "kubernetes.mod")); err != nil {
		t.Errorf("the older modules: %v", err)
	}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
