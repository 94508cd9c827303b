package begin

import "os"

// kind is the environment's TERM, if it has one.
type kind struct {
	name string
	is   bool
}

var terminal = hide()

// hide has libraries take the terminal for one that answers nothing. Bubble Tea, which comes with
// Pulumi, asks every terminal for its background before main, and waits for five seconds where
// none answers, as a serial console or a recorder.
func hide() (k kind) {
	if k.name, k.is = os.LookupEnv("TERM"); k.is {
		_ = os.Setenv("TERM", "dumb")
	}
	return k
}

func (k kind) show() {
	if k.is {
		_ = os.Setenv("TERM", k.name)
	}
}

// Terminal gives the environment its TERM back. main calls it first.
func Terminal() { terminal.show() }
