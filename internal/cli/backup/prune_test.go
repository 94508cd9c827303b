package backup

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/backuptest"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
	"github.com/slipway-sh/slipway/internal/recovery/undo"
)

// TestPinsOfAnEndedUndo are ended: it was killed between its record and that. The pin of one that
// is half done stays, and so do all if nobody knows.
func TestPinsOfAnEndedUndo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 4, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		point *undo.Point
		err   error
		want  []string
	}{
		"undone":         {&undo.Point{Backup: "a", Undoing: now, Undone: now}, nil, nil},
		"half done":      {&undo.Point{Backup: "a", Undoing: now}, nil, []string{"a"}},
		"just pinned":    {&undo.Point{Backup: "a"}, nil, []string{"a"}},
		"another change": {&undo.Point{Backup: "b"}, nil, nil},
		"no record":      {nil, nil, []string{"a"}},
		"not known":      {nil, errors.New("no route to host"), []string{"a"}},
	} {
		r, err := backup.Open(t.Context(), backuptest.NewMemory(now), backup.Options{Environment: "prod"})
		if err == nil {
			err = r.Pin(t.Context(), backup.HolderUndo, "a")
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := endPins(t.Context(), r, func() (changes, error) { return changes{undo: test.point}, test.err }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := r.Pinned(t.Context()); err != nil || !slices.Equal(slices.Collect(maps.Keys(got)), test.want) {
			t.Errorf("%s: pinned are %v, %v", name, got, err)
		}
	}
}

// TestPinsOfAnEndedRebuild are ended: it was killed between its record and that. One that was left
// alone keeps its backup, however long, and so does one that follows another which was given up.
func TestPinsOfAnEndedRebuild(t *testing.T) {
	t.Parallel()
	point := &undo.Point{Backup: "a", Undone: time.Date(2026, 3, 1, 4, 0, 0, 0, time.UTC)} // of no concern
	for name, test := range map[string]struct {
		record restore.Rebuild
		want   []string
	}{
		"complete":                {restore.Rebuild{Restored: "a"}, nil},
		"half done":               {restore.Rebuild{Begun: "a"}, []string{"a"}},
		"restored, not complete":  {restore.Rebuild{Begun: "a", Restored: "a"}, []string{"a"}},
		"one before it has begun": {restore.Rebuild{Begun: "b"}, []string{"a"}},
		"a former one, and again": {restore.Rebuild{Begun: "b", Restored: "a"}, []string{"a"}},
		"no record yet":           {restore.Rebuild{}, []string{"a"}},
		"that of one before it":   {restore.Rebuild{Restored: "b"}, []string{"a"}},
	} {
		r, err := backup.Open(t.Context(), backuptest.NewMemory(time.Now()), backup.Options{Environment: "prod"})
		if err == nil {
			err = r.Pin(t.Context(), backup.HolderRecover, "a")
		}
		if err == nil {
			err = endPins(t.Context(), r, func() (changes, error) { return changes{point, test.record}, nil })
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Pinned(t.Context()); err != nil || !slices.Equal(slices.Collect(maps.Keys(got)), test.want) {
			t.Errorf("%s: pinned are %v, %v", name, got, err)
		}
	}
}

// TestThePinOfARebuildThatNobodyContinues is ended when the management cluster has been backed up
// long after it and knows of no rebuild: that was killed before it had begun there.
func TestThePinOfARebuildThatNobodyContinues(t *testing.T) {
	t.Parallel()
	key, err := backup.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	reader, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		record restore.Rebuild
		// later is when the next backup was stored; 0 is never.
		later time.Duration
		want  []string
	}{
		"no backup since":          {restore.Rebuild{}, 0, []string{"a"}},
		"one an hour later":        {restore.Rebuild{}, time.Hour, []string{"a"}},
		"one two days later":       {restore.Rebuild{}, 48 * time.Hour, nil},
		"with that of one before":  {restore.Rebuild{Restored: "b"}, 48 * time.Hour, nil},
		"it has begun":             {restore.Rebuild{Begun: "a"}, 48 * time.Hour, []string{"a"}},
		"one before it, half done": {restore.Rebuild{Begun: "b"}, 48 * time.Hour, []string{"a"}},
	} {
		now := time.Date(2026, 3, 1, 4, 0, 0, 0, time.UTC)
		memory := backuptest.NewMemory(now)
		r, err := backup.Open(t.Context(), memory, backup.Options{Environment: backuptest.Environment, Key: key, Recipients: []string{reader.Recipient().String()}, Now: func() time.Time { return now }})
		if err == nil {
			err = r.Pin(t.Context(), backup.HolderRecover, "a")
		}
		if err == nil && test.later > 0 {
			now = now.Add(test.later)
			memory.Set(now)
			_, err = r.Write(t.Context(), backuptest.Snapshot(1, now))
		}
		if err == nil {
			err = endPins(t.Context(), r, func() (changes, error) { return changes{rebuild: test.record}, nil })
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Pinned(t.Context()); err != nil || !slices.Equal(slices.Collect(maps.Keys(got)), test.want) {
			t.Errorf("%s: pinned are %v, %v", name, got, err)
		}
	}
}

// TestTheListSaysWhoUsesABackup, and nothing of others.
func TestTheListSaysWhoUsesABackup(t *testing.T) {
	t.Parallel()
	r, err := backup.Open(t.Context(), backuptest.NewMemory(time.Now()), backup.Options{Environment: "prod"})
	if err == nil {
		err = r.Pin(t.Context(), backup.HolderRecover, "a")
	}
	if err != nil {
		t.Fatal(err)
	}
	pinned, err := r.Pinned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"a": "ok; slipway recover uses it", "b": "ok"} {
		rows := listTable([]listed{{Of: ofManagement, PinnedBy: pinned[id], Backup: backup.Backup{ID: id}}}).Rows
		if got := rows[0][len(rows[0])-1]; got != want {
			t.Errorf("%s is %q, not %q", id, got, want)
		}
	}
}

// TestNobodyIsAskedWithoutPins: the management cluster may be away, and prune needs none.
func TestNobodyIsAskedWithoutPins(t *testing.T) {
	t.Parallel()
	r, err := backup.Open(t.Context(), backuptest.NewMemory(time.Now()), backup.Options{Environment: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	if err := endPins(t.Context(), r, func() (changes, error) { t.Error("it was asked"); return changes{}, nil }); err != nil {
		t.Error(err)
	}
}
