package keymanager

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestVaultKeyIsPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	v := newVault(dir)
	sealed, err := v.seal("one", []byte("geheim"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, []byte("geheim")) {
		t.Error("sealed payload holds the payload")
	}
	info, err := os.Stat(filepath.Join(dir, "keymanager.key"))
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 32 {
		t.Errorf("key file: %v, %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".keymanager-*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	again := newVault(dir)
	payload, err := again.unseal("one", sealed)
	if err != nil || string(payload) != "geheim" {
		t.Errorf("after a restart: %q, %v", payload, err)
	}
}

func TestVaultRefuses(t *testing.T) {
	t.Parallel()
	v := newVault(t.TempDir())
	sealed, err := v.seal("one", []byte("geheim"))
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for name, test := range map[string]struct {
		id     string
		sealed []byte
	}{"another secret's": {"two", sealed}, "changed": {"one", changed}, "cut short": {"one", sealed[:5]}, "none": {"one", nil}} {
		if payload, err := v.unseal(test.id, test.sealed); err == nil {
			t.Errorf("%s payload was opened: %q", name, payload)
		}
	}
}

func TestVaultNamesBadKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "keymanager.key"), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newVault(dir).seal("one", []byte("x")); err == nil {
		t.Error("a key of five bytes was taken")
	}
}
