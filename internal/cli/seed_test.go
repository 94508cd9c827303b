package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/slipway-sh/slipway/internal/fault"
)

// TestAShelvedSeedIsToldOf: what commands do without the seed, and that it is not
// shelved while something depends on it.
func TestAShelvedSeedIsToldOf(t *testing.T) {
	t.Parallel()
	cloud, file := project(t)
	upToTheSeed(t, file)
	if code, _, stderr := run(t.Context(), "seed", "shelve", "--yes", "-f", file); code != fault.ExitUsage || !strings.Contains(stderr, "spec.seed.role: it is permanent") {
		t.Errorf("shelving what is depended on: exit code %d\n%s", code, stderr)
	}
	shelve(t, cloud.Member.Compute(t), data[statusData](t, "status", "-f", file, "-o", "json"))

	code, _, stderr := run(t.Context(), "up", "--yes", "-f", file, "--skip-check", "bundle")
	if code != fault.ExitFailure || !strings.Contains(stderr, "prod-seed: it is shelved") || !strings.Contains(stderr, "slipway seed wake") {
		t.Errorf("up: exit code %d\n%s", code, stderr)
	}
	code, stdout, stderr := run(t.Context(), "plan", "-f", file, "--skip-check", "bundle")
	if code != fault.ExitOK || !strings.Contains(stdout, "to create") || !strings.Contains(stderr, "warning: seed prod-seed: it is shelved") {
		t.Errorf("plan: exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, r := range data[statusData](t, "status", "-f", file, "-o", "json").Resources {
		if r.Step == "seed" && r.State != "SHELVED_OFFLOADED" {
			t.Errorf("status shows %+v", r)
		}
	}
}

// shelve shelves the seed as somebody else would.
func shelve(t *testing.T, compute *gophercloud.ServiceClient, status statusData) {
	t.Helper()
	for _, r := range status.Resources {
		if r.Step != "seed" || r.Type != "server" {
			continue
		}
		for range 100 {
			if err := servers.Shelve(t.Context(), compute, r.ID).ExtractErr(); err == nil {
				break
			}
			time.Sleep(100 * time.Millisecond) // it is still being made
		}
		for range 100 {
			s, err := servers.Get(t.Context(), compute, r.ID).Extract()
			if err == nil && s.Status == "SHELVED_OFFLOADED" {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	t.Fatal("the seed is not shelved")
}
