//go:build !linux

package sandbox

import (
	"runtime"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// TestWhatDoesNotWorkHereSaysSo, whatever it is asked for. On Linux the compiler reads it:
// make platforms.
func TestWhatDoesNotWorkHereSaysSo(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"start"}, {"start", "--dir", "x"}, {"status"}} {
		cmd := New(ui.Streams{})
		cmd.SetArgs(args)
		err := cmd.ExecuteContext(t.Context())
		if err == nil || !strings.Contains(err.Error(), runtime.GOOS) || !strings.Contains(err.Error(), "Linux") || fault.Remedy(err) == "" || fault.ExitCode(err) != fault.ExitUsage {
			t.Errorf("%v: %v", args, err)
		}
	}
}
