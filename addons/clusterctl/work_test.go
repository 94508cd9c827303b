package clusterctl

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Objects that are applied count as progress, also while no controller is available.
func TestWorkIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said []string
		w := &work{objects: 4, tell: func(text string) { said = append(said, text) }}
		w.waits("0 of 1 available")
		w.applied()
		w.serves("things.example.org")
		time.Sleep(sayEvery)
		w.serves("things.example.org")
		w.serves("things.example.org")
		time.Sleep(sayEvery)
		w.applied()
		w.applied()
		w.applied()
		w.waits("1 of 1 available")
		want := []string{"0 of 4 objects applied; 0 of 1 available", "1 of 4 objects applied, definition things.example.org not served yet; 0 of 1 available",
			"2 of 4 objects applied; 0 of 1 available", "0 of 1 available", "1 of 1 available"}
		if !slices.Equal(said, want) {
			t.Errorf("said %q\nwant %q", said, want)
		}
	})
	silent := &work{objects: 1}
	silent.waits("x")
	silent.applied()
}
