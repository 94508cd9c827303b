package begin

import "os"

// terminal is the terminal's kind, until Terminal gives it back.
var terminal, told = hideTerminal()

// hideTerminal has libraries take the terminal for one that answers nothing. Bubble Tea, which
// comes with Pulumi, asks every terminal for its background before main, and waits for five
// seconds where none answers, as a serial console or a recorder.
func hideTerminal() (string, bool) {
	kind, is := os.LookupEnv("TERM")
	if is {
		_ = os.Setenv("TERM", "dumb")
	}
	return kind, is
}

// Terminal gives the environment its TERM back. main calls it first.
func Terminal() {
	if told {
		_ = os.Setenv("TERM", terminal)
	}
}
