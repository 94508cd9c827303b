package backup

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/backuptest"
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
			err = r.Pin(t.Context(), "a")
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := endPins(t.Context(), r, func() (*undo.Point, error) { return test.point, test.err }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := r.Pinned(t.Context()); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: pinned are %v, %v", name, got, err)
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
	if err := endPins(t.Context(), r, func() (*undo.Point, error) { t.Error("it was asked"); return nil, nil }); err != nil {
		t.Error(err)
	}
}
