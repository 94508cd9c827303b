package target

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
)

// TestAuthoritiesOfOtherManagementClusters are put together, and each file that has none is named.
func TestAuthoritiesOfOtherManagementClusters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) config.File {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return config.File(path)
	}
	pem, err := os.ReadFile("../../config/testdata/ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	good := file("good.pem", strings.TrimRight(string(pem), "\n"))
	got, err := authorities([]config.OtherManagementCluster{{CAFile: good}, {}, {CAFile: good}})
	if err != nil || strings.Count(got, "-----BEGIN CERTIFICATE-----\n") != 2*strings.Count(string(pem), "BEGIN CERTIFICATE") || strings.Contains(got, "----------") {
		t.Errorf("%q, %v", got, err)
	}
	_, err = authorities([]config.OtherManagementCluster{{CAFile: file("bad.pem", "x")}, {CAFile: "absent.pem"}, {CAFile: good}})
	for _, want := range []string{"bad.pem: it has no certificate", "absent.pem"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if fault.ExitCode(err) != fault.ExitUsage {
		t.Errorf("exit code %d", fault.ExitCode(err))
	}
}
