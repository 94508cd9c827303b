package backup_test

import (
	"slices"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/backuptest"
)

// TestPinsOfTwoCommands: each ends its own, and one that is over does not stand in the way of
// the next one of the same backup, as of a second rebuild from it.
func TestPinsOfTwoCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := w.backups(t, 3, 24*time.Hour)
	back := ids[1]
	const undo, rebuild = backup.HolderUndo, backup.HolderRecover
	for _, step := range []struct {
		what    string
		by      backup.Holder
		pin     bool
		want    []backup.Holder
		objects []string
	}{
		{"an undo begins", undo, true, []backup.Holder{undo}, []string{""}},
		{"a rebuild begins", rebuild, true, []backup.Holder{rebuild, undo}, []string{"", ".recover"}},
		{"it continues", rebuild, true, []backup.Holder{rebuild, undo}, []string{"", ".recover"}},
		{"the undo ends", undo, false, []backup.Holder{rebuild}, []string{"", ".done", ".recover"}},
		{"the rebuild ends", rebuild, false, nil, []string{"", ".done", ".recover", ".recover.done"}},
		{"it ends again", rebuild, false, nil, []string{"", ".done", ".recover", ".recover.done"}},
		{"another rebuild begins", rebuild, true, []backup.Holder{rebuild}, []string{"", ".done", ".recover", ".recover-2", ".recover.done"}},
		{"another undo begins", undo, true, []backup.Holder{rebuild, undo}, []string{"", ".done", ".recover", ".recover-2", ".recover.done", ".undo-2"}},
		{"it ends", undo, false, []backup.Holder{rebuild}, []string{"", ".done", ".recover", ".recover-2", ".recover.done", ".undo-2", ".undo-2.done"}},
	} {
		do := w.open(t).Unpin
		if step.pin {
			do = w.open(t).Pin
		}
		if err := do(t.Context(), step.by, back); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		if all := must(w.open(t).Pinned(t.Context())); !slices.Equal(all[back], step.want) {
			t.Errorf("%s: it is pinned by %v", step.what, all[back])
		}
		var objects []string
		for _, ending := range step.objects {
			objects = append(objects, "pins/"+back+ending)
		}
		slices.Sort(objects)
		if got := names(w, "pins/"); !slices.Equal(got, objects) {
			t.Errorf("%s: there are %v", step.what, got)
		}
	}
	result := must(w.open(t).Prune(t.Context(), backup.Keep{Last: 1}, false))
	if !slices.Equal(result.Kept, []string{ids[0], back}) || !slices.Equal(result.Pinned, []string{back}) {
		t.Errorf("%+v", result)
	}
	if left := names(w, "pins/"); !slices.Equal(left, []string{"pins/" + back + ".recover-2"}) {
		t.Errorf("left are %v", left)
	}
}

// TestAPinThatIsOutlived: by a good backup that was stored a day later, of the pins of its holder.
func TestAPinThatIsOutlived(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	back := w.backups(t, 1, time.Hour)[0]
	if err := w.open(t).Pin(t.Context(), backup.HolderRecover, back); err != nil {
		t.Fatal(err)
	}
	outlived := func(what string, by backup.Holder, want bool) {
		t.Helper()
		if got := must(w.open(t).Outlived(t.Context(), by, back)); got != want {
			t.Errorf("%s: %t", what, got)
		}
	}
	outlived("no backup since", backup.HolderRecover, false)
	w.pass(time.Hour)
	w.write(t, backuptest.Snapshot(1, w.now))
	outlived("one that may be of before", backup.HolderRecover, false)
	w.pass(24 * time.Hour)
	later := w.write(t, backuptest.Snapshot(1, w.now))
	outlived("one of a day later", backup.HolderRecover, true)
	outlived("who has not pinned it", backup.HolderUndo, false)
	w.memory.Forge("backups/"+later.ID, []byte("forged"))
	outlived("a damaged one", backup.HolderRecover, false)
}
