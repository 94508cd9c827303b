package backup_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/backuptest"
	"github.com/slipway-sh/slipway/internal/backup/target"
)

// TestEachForgedByteIsFound: verify finds it without a key, and reading refuses it.
func TestEachForgedByteIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.write(t, backuptest.Snapshot(1, begin))
	for _, folder := range []string{"backups/", "tables/", "packs/"} {
		for _, name := range names(w, folder) {
			whole := w.memory.Objects()[name]
			for at := 0; at < len(whole); at += step(folder, len(whole)) {
				forged := bytes.Clone(whole)
				forged[at] ^= 1 << rand.IntN(8)
				damaged(t, w, b.ID, name, forged)
			}
			damaged(t, w, b.ID, name, whole[:len(whole)-1])
			damaged(t, w, b.ID, name, whole[:0])
			damaged(t, w, b.ID, name, append(bytes.Clone(whole), 'x'))
			if folder != "backups/" {
				damaged(t, w, b.ID, name, nil)
			}
			w.memory.Forge(name, whole)
		}
	}
	if _, err := w.open(t).Read(t.Context(), b.ID, w.first); err != nil {
		t.Errorf("the whole one: %v", err)
	}
}

// step leaves out bytes of what is long and all alike.
func step(folder string, length int) int {
	if folder == "backups/" {
		return 1
	}
	return max(1, length/40)
}

func damaged(t *testing.T, w *world, id, name string, content []byte) {
	t.Helper()
	w.memory.Forge(name, content)
	r := w.open(t)
	if _, err := r.Read(t.Context(), id, w.first); !backup.IsDamaged(err) {
		t.Fatalf("%s is not what was written, and reading says: %v", name, err)
	}
	all, err := r.List(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("listing: %d, %v", len(all), err)
	}
	v, err := r.Verify(t.Context(), all[0])
	if err != nil || len(v.Problems) == 0 {
		t.Fatalf("verify finds nothing in %s: %v", name, err)
	}
}

// TestAPackOfAnother: two whole packs that change places are found.
func TestAPackOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, backuptest.Snapshot(1, begin))
	w.pass(time.Hour)
	b := w.write(t, backuptest.Snapshot(2, begin))
	packs := names(w, "packs/")
	if len(packs) < 2 {
		t.Fatalf("%d packs", len(packs))
	}
	one, two := w.memory.Objects()[packs[0]], w.memory.Objects()[packs[1]]
	w.memory.Forge(packs[0], two)
	w.memory.Forge(packs[1], one)
	if _, err := w.open(t).Read(t.Context(), b.ID, w.first); err == nil || !strings.Contains(err.Error(), "forged") && !strings.Contains(err.Error(), "bytes") {
		t.Errorf("%v", err)
	}
}

// TestAForgerWithoutTheKey: somebody who may write to the target and knows the
// recipients makes a backup of their own. spec.backup.signers refuses it, and the
// genuine one is the newest.
func TestAForgerWithoutTheKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	genuine := w.write(t, backuptest.Snapshot(1, begin))
	w.pass(time.Hour)
	owner := w.options.Key
	w.options.Key, _ = backup.NewKey()
	w.write(t, backuptest.Snapshot(2, begin))
	w.options.Key, w.options.Signers = owner, []string{owner.Signer()}
	latest, err := w.open(t).Latest(t.Context(), time.Time{})
	if err != nil || latest.ID != genuine.ID {
		t.Errorf("the newest is %s, %v", latest.ID, err)
	}
}

// TestABackupThatMoved: one of another environment, signed rightly, put among ours.
func TestABackupThatMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.write(t, backuptest.Snapshot(1, begin))
	other := *w
	other.memory, other.options.Environment = backuptest.NewMemory(begin), "test"
	if _, err := other.open(t).Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, content := range w.memory.Objects() {
		if name != "repository" {
			if err := other.memory.Put(t.Context(), name, content); err != nil && !errors.Is(err, target.ErrExists) {
				t.Fatal(err)
			}
		}
	}
	if _, err := other.open(t).Read(t.Context(), b.ID, w.first); err == nil || !strings.Contains(err.Error(), "environment prod, not of test") {
		t.Errorf("%v", err)
	}
}
