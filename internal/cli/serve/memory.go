package serve

import (
	"os"
	"runtime/debug"
)

// gcPercent halves what Go lets garbage grow to: what is kept lives long, and
// operators count memory. It costs the API a sixth of its lists a second, and of
// anything else nothing that test/bench/magnum shows.
const gcPercent = 50

// collectOften sets it, unless the operator has set GOGC, and returns what sets
// it back.
func collectOften() (back func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(gcPercent)
	return func() { debug.SetGCPercent(before) }
}
