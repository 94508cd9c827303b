package kubernetes

import (
	"fmt"
	"strings"
	"testing"
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
