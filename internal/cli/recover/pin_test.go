package recover

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/backuptest"
	"github.com/slipway-sh/slipway/internal/event"
)

// notes counts what is told.
type notes struct{ told int }

func (n *notes) Emit(e event.Event) {
	if e.State == event.Note {
		n.told++
	}
}

// TestARebuildPinsItsBackup until its end, or until one from another backup has begun. The pins of
// an undo stay, and a target that takes none stops no rebuild.
func TestARebuildPinsItsBackup(t *testing.T) {
	t.Parallel()
	memory := backuptest.NewMemory(time.Now())
	pins, err := backup.Open(t.Context(), memory, backup.Options{Environment: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	if err := pins.Pin(t.Context(), backup.HolderUndo, "a"); err != nil {
		t.Fatal(err)
	}
	sink := &notes{}
	run := func(from string) *rebuild {
		return &rebuild{progress: sink, pins: pins, result: result{Backup: from}}
	}
	expect := func(what string, ids ...string) {
		t.Helper()
		all, err := pins.Pinned(t.Context())
		if err != nil || !slices.Contains(all["a"], backup.HolderUndo) {
			t.Errorf("%s: pinned are %v, %v", what, all, err)
		}
		maps.DeleteFunc(all, func(_ string, by []backup.Holder) bool { return !slices.Contains(by, backup.HolderRecover) })
		if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, ids) {
			t.Errorf("%s: rebuilds pin %v, not %v", what, got, ids)
		}
	}
	for range 2 { // a run that continues
		if err := run("a").keep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	expect("one has begun", "a")
	if err := run("b").keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect("one from another backup makes the environment", "a", "b")
	run("b").letOthersGo(t.Context(), "b")
	expect("it has begun", "b")
	run("b").letOthersGo(t.Context(), "")
	expect("it is complete")
	if sink.told != 0 {
		t.Errorf("told %d notes", sink.told)
	}
	memory.Fault = func(_ context.Context, verb, _ string) error {
		if verb == "put" {
			return errors.New("read only")
		}
		return nil
	}
	if err := run("a").keep(t.Context()); err != nil || sink.told != 1 {
		t.Errorf("%v, told %d notes", err, sink.told)
	}
}
