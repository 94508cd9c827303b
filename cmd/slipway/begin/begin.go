// Package begin lets the program begin without collecting garbage. The libraries fill their tables
// before main, some 17 MiB that stay: Go would mark them at 4, 8 and 16 MiB, which takes as much
// processor time as filling them.
package begin

import (
	"os"
	"runtime"
	_ "unsafe" // for linkname
)

// first is the GOGC by which the first collection comes at a heap of 64 MiB: Go multiplies it
// with 4 MiB, the smallest heap that it collects. usual is Go's own.
const first, usual = 1600, 100

// setGCPercent is what debug.SetGCPercent calls. The linker orders packages that are ready to be
// initialised by path: one that imports runtime/debug waits until hundreds of libraries have
// filled theirs, and the first collection has come. If a release of Go refuses the name, import
// runtime/debug: what is lost is some milliseconds.
//
//go:linkname setGCPercent runtime/debug.setGCPercent
func setGCPercent(percent int32) (before int32)

var _ = wait()

// wait puts the first collection off, unless the operator says how Go collects. Later ones come
// when they would without it, because the first ends it.
func wait() bool {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return false
	}
	setGCPercent(first)
	runtime.AddCleanup(new([2]*byte), func(int) {
		if now := setGCPercent(usual); now != first {
			setGCPercent(now) // a command has set its own
		}
	}, 0)
	return true
}
