package namespace_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

func TestNamespace(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	path := filepath.Join(t.TempDir(), "ns")
	for range 2 { // the second finds it
		if err := namespace.Create(path); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = namespace.Delete(path) })
	var inside []net.Interface
	err := namespace.Do(path, func() (err error) {
		inside, err = net.Interfaces()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range inside {
		if i.Flags&net.FlagUp != 0 {
			t.Errorf("interface %s of a new namespace is up: not a namespace of its own", i.Name)
		}
	}
	for range 2 {
		if err := namespace.Delete(path); err != nil {
			t.Fatal(err)
		}
	}
	if namespace.Exists(path) {
		t.Error("the namespace still has its name")
	}
	if err := namespace.Do(path, func() error { return nil }); err == nil {
		t.Error("entering a namespace that is gone succeeds")
	}
}

func TestExistsIsNotAPlainFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if namespace.Exists(path) {
		t.Error("a plain file is taken for a namespace")
	}
}
