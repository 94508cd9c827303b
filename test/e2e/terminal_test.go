package e2e

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestATerminalIsAskedNothing has the whole program on a terminal that answers nothing: libraries
// ask for its background before main, and wait for five seconds (cmd/slipway/begin).
func TestATerminalIsAskedNothing(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "script", "--quiet", "--return", "--command", builtProgram(t)+" version", "/dev/null")
	cmd.Env = append(cmd.Environ(), "TERM=xterm-256color")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "PART") || strings.Contains(string(out), "\x1b") {
		t.Errorf("%q, %v", out, err)
	}
}
