package backup_test

import (
	"slices"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/backuptest"
)

// TestAClockThatWasAhead makes no backup the newest one that is not: it counts as of when it was
// stored, and costs no other its place.
func TestAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.write(t, backuptest.Snapshot(1, w.now))
	w.pass(time.Hour)
	fast := *w // another machine of the environment
	fast.options.Now = func() time.Time { return w.now.AddDate(1, 0, 0) }
	wrong := fast.write(t, backuptest.Snapshot(1, fast.options.Now()))
	stored := w.now
	latest := func(at time.Time, want backup.Backup) backup.Backup {
		t.Helper()
		got := must(w.open(t).Latest(t.Context(), at))
		if got.ID != want.ID {
			t.Errorf("the newest is %s of %s, not %s", got.ID, got.Taken, want.ID)
		}
		return got
	}
	if got := latest(time.Time{}, wrong); !got.Taken.Equal(stored) || !got.Dated.Equal(wrong.Taken) {
		t.Errorf("it is of %s, and says %s", got.Taken, got.Dated)
	}
	w.pass(time.Hour)
	second := w.write(t, backuptest.Snapshot(1, w.now))
	latest(time.Time{}, second)
	latest(stored.Add(time.Minute), wrong)
	latest(stored.Add(-time.Minute), first)
	var ids []string
	for _, b := range must(w.open(t).List(t.Context())) {
		ids = append(ids, b.ID)
	}
	if want := []string{second.ID, wrong.ID, first.ID}; !slices.Equal(ids, want) {
		t.Errorf("listed %v, not %v", ids, want)
	}
	if result := must(w.open(t).Prune(t.Context(), backup.Keep{Last: 1, Daily: 1}, false)); !slices.Equal(result.Kept, []string{second.ID, wrong.ID}) {
		t.Errorf("kept %v", result.Kept)
	}
	w.pass(366 * 24 * time.Hour) // its time has come, and it is no newer for that
	latest(time.Time{}, second)
	if result := must(w.open(t).Prune(t.Context(), backup.Keep{Last: 1, Daily: 1}, false)); !slices.Equal(result.Kept, []string{second.ID}) {
		t.Errorf("at last kept %v", result.Kept)
	}
}

// TestATargetWhoseClockIsBehind makes no backup one of a clock that was ahead: all are as much later
// than it, in their order.
func TestATargetWhoseClockIsBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ids []string
	for range 3 {
		w.now = w.now.Add(time.Hour)
		w.memory.Set(w.now.Add(-30 * time.Hour))
		ids = append(ids, w.write(t, backuptest.Snapshot(1, w.now)).ID)
	}
	slices.Reverse(ids)
	for i, b := range must(w.open(t).List(t.Context())) {
		if b.ID != ids[i] || !b.Dated.IsZero() {
			t.Errorf("%d is %s, dated %s", i, b.ID, b.Dated)
		}
	}
}
