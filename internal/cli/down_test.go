package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
)

// TestDownDeletesNothingThatItDoesNotKnow: while another run holds the lock, and while a seed
// that ran Cluster API cannot be asked for workload clusters, everything stays.
func TestDownDeletesNothingThatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	_, file := project(t)
	upToTheSeed(t, file)
	withStep(t, file, "k3s", "k3s", map[string]any{"user": "debian", "kubeconfig": "none"})
	withStep(t, file, "cluster-api", "cluster-api", map[string]any{})
	folder := filepath.Join(filepath.Dir(file), ".slipway")
	before := data[statusData](t, "status", "-f", file, "-o", "json")
	refused := func(when string, words ...string) {
		t.Helper()
		code, _, said := run(t.Context(), "down", "--yes", "-f", file)
		if code != fault.ExitFailure {
			t.Errorf("%s: exit code %d\n%s", when, code, said)
		}
		for _, word := range words {
			if !strings.Contains(said, word) {
				t.Errorf("%s: told %q, without %q", when, said, word)
			}
		}
		if after := data[statusData](t, "status", "-f", file, "-o", "json"); len(after.Resources) != len(before.Resources) {
			t.Fatalf("%s: %d resources became %d", when, len(before.Resources), len(after.Resources))
		}
	}

	lock := filepath.Join(folder, ".pulumi", "locks", "organization", "slipway", "prod", "5a1d.json")
	check(t, os.MkdirAll(filepath.Dir(lock), 0o700))
	check(t, os.WriteFile(lock, []byte(`{"pid": 4711, "username": "bob", "hostname": "desk.example", "timestamp": "2026-11-20T10:00:00Z"}`), 0o600))
	refused("another run", "locked by bob on desk.example", "slipway state unlock")
	check(t, os.Remove(lock))

	refused("no way to the seed", "nobody can say whether workload clusters depend on it", "seed prod-seed: ", "--delete-clusters")
	check(t, os.Rename(folder, folder+"-lost"))
	refused("state lost", "nobody can say whether workload clusters depend on it", "there is no seed in the state", "--delete-clusters")
	if down := data[downData](t, "down", "--yes", "--delete-clusters", "-f", file, "-o", "json"); len(down.Left) > 0 || len(down.Deleted) != len(before.Resources) {
		t.Errorf("confirmed: %+v", down)
	}
}
