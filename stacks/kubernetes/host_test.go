package kubernetes

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
)

// A k3s that only takes its time is waited for; one that cannot start is not.
func TestUnitsOfTheSeed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		data, loaded, k3s string
		restarts          int
		unit, failure     string
	}{
		"starting":          {"active", "loaded", "activating", 0, "", ""},
		"waits for data":    {"activating", "loaded", "inactive", 0, "", ""},
		"restarted once":    {"active", "loaded", "activating", 1, "", ""},
		"crashes":           {"active", "loaded", "activating", 3, k3sUnit, "k3s does not start, after 4 attempts"},
		"runs after all":    {"active", "loaded", "active", 3, "", ""},
		"gave up":           {"active", "loaded", "failed", 1, k3sUnit, "after 2 attempts"},
		"no volume":         {"failed", "loaded", "inactive", 0, dataUnit, "could not be mounted"},
		"image without k3s": {"inactive", "not-found", "inactive", 0, "", "it has no k3s"},
	} {
		out := fmt.Sprintf("Id=%s\nLoadState=loaded\nActiveState=%s\n\nNRestarts=%d\nId=%s\nLoadState=%s\nActiveState=%s\n",
			dataUnit, test.data, test.restarts, k3sUnit, test.loaded, test.k3s)
		state, unit, err := judgeUnits(out)
		if state != test.k3s || unit != test.unit {
			t.Errorf("%s: k3s is %q, the journal is that of %q", name, state, unit)
		}
		if (err == nil) != (test.failure == "") || err != nil && !strings.Contains(err.Error(), test.failure) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whoever logs in without sudo is told so; a lost connection is something else.
func TestAUserWhoCannotBecomeRoot(t *testing.T) {
	t.Parallel()
	err := rootless("rocky", &remote.Failure{Program: "true", Status: 1, Said: "sudo: a password is required"})
	if err == nil || !strings.Contains(err.Error(), "user rocky of the seed's image: it cannot become root: true: sudo: a password is required") ||
		!strings.Contains(fault.Remedy(err), "spec.seed.ssh.user") {
		t.Errorf("got %v", err)
	}
	if lost := errors.New("connection lost"); !errors.Is(rootless("rocky", lost), lost) || fault.Remedy(rootless("rocky", lost)) != "" {
		t.Error("a lost connection is explained by sudo")
	}
}

// From Kubernetes 1.35 on kubelet does not start with version 1 of cgroups.
func TestWhatTheBundleNeedsOfAMachine(t *testing.T) {
	t.Parallel()
	for version, v2 := range map[string]bool{"v1.34.1+k3s1": false, "v1.35.0+k3s1": true, "v2.0.0+k3s1": true} {
		bill := bundle.NewBill("linux/amd64")
		bill.Set(bundle.Item{Name: "k3s", Kind: bundle.Binary, Version: version})
		if got := needs(bill); got.CgroupV2 != v2 || got.Architecture != "x86_64" {
			t.Errorf("%s: %+v", version, got)
		}
	}
}
