package begin

import (
	"os"
	"testing"
)

// TestTheTerminalIsHiddenUntilMain: libraries see one that answers nothing, commands the real one.
// TestATerminalIsAskedNothing (test/e2e) has the whole program.
func TestTheTerminalIsHiddenUntilMain(t *testing.T) {
	t.Setenv("TERM", "xterm") // what it is now comes back at the end
	k := hide()
	if now := os.Getenv("TERM"); now != "dumb" {
		t.Errorf("libraries see %q", now)
	}
	k.show()
	if now := os.Getenv("TERM"); now != "xterm" {
		t.Errorf("commands see %q", now)
	}
	os.Unsetenv("TERM")
	k = hide()
	k.show()
	if now, is := os.LookupEnv("TERM"); is {
		t.Errorf("without a terminal there is one, %q", now)
	}
}
