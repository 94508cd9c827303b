package begin_test

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	_ "github.com/slipway-sh/slipway/cmd/slipway/begin"
)

// TestTheFirstCollectionRestoresGoPace is not parallel, and runs in a process that has been small
// so far.
func TestTheFirstCollectionRestoresGoPace(t *testing.T) {
	if before := debug.SetGCPercent(1600); before != 1600 {
		t.Skipf("GOGC is %d: it was set, or a collection has been", before)
	}
	runtime.GC()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		now := debug.SetGCPercent(100)
		if now == 100 {
			return
		}
		debug.SetGCPercent(now)
		if time.Now().After(end) {
			t.Fatalf("GOGC is %d after a collection", now)
		}
	}
}
