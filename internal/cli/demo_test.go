package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
)

// TestDemoWithoutMachines runs a whole demo as a user does, twice, and deletes it:
// a real sandbox in a process of its own, an environment file, and a plan with a
// bundle that is there.
func TestDemoWithoutMachines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	demo, bundle := filepath.Join(dir, "demo"), filepath.Join(dir, "bundle")
	args := []string{"demo", "--driver", "none", "--listen", "127.0.0.1:0", "--dir", demo, "--bundle", bundle}
	t.Cleanup(func() { run(t.Context(), "sandbox", "reset", "--dir", filepath.Join(demo, "cloud")) })
	code, out, said := run(t.Context(), args...)
	if code != fault.ExitOK || !strings.Contains(out, "The sandbox listens at") || !strings.Contains(said, "$ cd "+demo+" && slipway init") {
		t.Fatalf("exit code %d\n%s\n%s", code, out, said)
	}
	smallBundle(t, bundle)
	file := filepath.Join(demo, "slipway.yaml")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(before), "count: 3", "count: 1", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	// The bundle has k3s only: the plan says what is missing, and the demo how to continue.
	code, out, said = run(t.Context(), args...)
	if code == fault.ExitOK || !strings.Contains(out, "already running") || !strings.Contains(said, "run slipway demo again: it continues") || strings.Contains(said, "slipway init") {
		t.Errorf("exit code %d\n%s\n%s", code, out, said)
	}
	if after, err := os.ReadFile(file); err != nil || !strings.Contains(string(after), "count: 1") {
		t.Errorf("the changed environment file is lost: %v", err)
	}
	code, out, said = run(t.Context(), "demo", "--down", "--yes", "--dir", demo)
	if _, err := os.Stat(demo); code != fault.ExitOK || err == nil || !strings.Contains(out, "The demo is deleted") {
		t.Errorf("exit code %d, %v\n%s\n%s", code, err, out, said)
	}
}
