package adopt

import (
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/stacks/takeover"
	"github.com/slipway-sh/slipway/stacks/workload/adopt"
)

// TestAnEnvironmentFileThatCannotBeMade is an error for those who want it, before anything is
// done; all others adopt without it.
func TestAnEnvironmentFileThatCannotBeMade(t *testing.T) {
	t.Parallel()
	plan := &takeover.Plan{Environment: "a-name-that-is-longer-than-thirty-characters", Release: &adopt.Cluster{Verdict: adopt.Adopt}}
	r := &environmentReport{Plan: plan}
	if err := (&environmentOptions{}).convert(r); err != nil || r.unconverted == nil || len(r.files) > 0 {
		t.Errorf("without --output-dir: %v, %v, %v", err, r.unconverted, r.files)
	}
	r = &environmentReport{Plan: plan}
	if err := (&environmentOptions{files: t.TempDir()}).convert(r); err == nil || !strings.Contains(err.Error(), "longer than the 30 characters") {
		t.Errorf("with --output-dir: %v", err)
	}
}
