package engine

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestWhatWasReadBeforeAChangeIsNotKept, nor for long.
func TestWhatWasReadBeforeAChangeIsNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m memory
		known := func(what string, want bool) {
			t.Helper()
			if list, ok, _ := m.recall(); ok != want || ok && (len(list) != 1 || list[0].Name != "seed") {
				t.Errorf("%s: known %t: %v", what, ok, list)
			}
		}
		known("at first", false)
		_, _, before := m.recall()
		m.keep([]Resource{{Name: "seed"}}, before)
		known("after a reading", true)
		list, _, _ := m.recall()
		list[0].Name = "another"
		known("after somebody wrote into the list", true)
		ended := m.change()
		known("during a change", false)
		_, _, during := m.recall()
		m.keep([]Resource{{Name: "half"}}, during)
		known("after a reading in a change", false)
		ended()
		known("after a change", false)
		m.keep([]Resource{{Name: "seed"}}, before)
		m.keep([]Resource{{Name: "half"}}, during)
		known("after readings that began before the change, and in it", false)
		_, _, now := m.recall()
		m.keep([]Resource{{Name: "seed"}}, now)
		m.attempt()(false)
		known("after an attempt that changed nothing", true)
		m.attempt()(true)
		known("after one that changed something", false)
		_, _, now = m.recall()
		m.keep([]Resource{{Name: "seed"}}, now)
		time.Sleep(sure + time.Second)
		m.attempt()(false)
		known("after an attempt that began long after the reading", false)
		_, _, now = m.recall()
		m.keep([]Resource{{Name: "seed"}}, now)
		attempt := m.attempt()
		m.change()()
		attempt(false)
		known("after an attempt with a change of somebody else in it", false)
		_, _, now = m.recall()
		m.keep([]Resource{{Name: "seed"}}, now)
		time.Sleep(fresh - time.Second)
		known("a while later", true)
		time.Sleep(2 * time.Second)
		known("long after", false)
	})
}
