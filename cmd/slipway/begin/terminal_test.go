package begin

import (
	"os"
	"testing"
)

// TestTheTerminalIsHiddenUntilMain: libraries see one that answers nothing, commands the real one.
func TestTheTerminalIsHiddenUntilMain(t *testing.T) {
	if !told {
		t.Skip("TERM is not set")
	}
	t.Setenv("TERM", "dumb") // and what it is now comes back at the end
	Terminal()
	if now := os.Getenv("TERM"); now != terminal {
		t.Errorf("TERM is %q, was %q", now, terminal)
	}
	if kind, is := hideTerminal(); !is || kind != terminal || os.Getenv("TERM") != "dumb" {
		t.Errorf("hidden is %q, libraries see %q", kind, os.Getenv("TERM"))
	}
}
