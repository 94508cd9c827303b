package magnum

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/slipway-sh/slipway/internal/bundle/bundletest"
)

// controlPlane starts the API server and etcd of the bundle, as management
// clusters run them; etcd writes to the disk before it answers.
func controlPlane(t *testing.T) *envtest.Environment {
	t.Helper()
	plane := &envtest.Environment{}
	plane.ControlPlane.GetAPIServer().Path = bound(t, bundletest.Program(t, "kube-apiserver", "kube-apiserver"))
	plane.ControlPlane.Etcd = &envtest.Etcd{Path: bound(t, bundletest.Program(t, "etcd", "etcd"))}
	plane.ControlPlane.Etcd.Configure().Set("unsafe-no-fsync", "false")
	if _, err := plane.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	return plane
}

// bound is a program that ends with the test's process, also when that is
// killed; envtest cannot ask for it.
func bound(t *testing.T, program string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bound")
	if err := os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\nexec setpriv --pdeathsig KILL '%s' \"$@\"\n", program), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
