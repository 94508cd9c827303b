package backup_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/backuptest"
	"github.com/slipway-sh/slipway/internal/backup/target"
)

// changing is a snapshot of which each call has more clusters.
func (w *world) backups(t *testing.T, count int, apart time.Duration) (ids []string) {
	t.Helper()
	for n := range count {
		s := backuptest.Snapshot(1, w.now)
		s.Objects = append(s.Objects, backuptest.Cluster(1000+n)...)
		s.File = fmt.Appendf(nil, "# %d", n)
		ids = append(ids, w.write(t, s).ID)
		w.pass(apart)
	}
	slices.Reverse(ids)
	return ids
}

// TestPruneKeeps: what stays can be read, what goes leaves nothing behind.
func TestPruneKeeps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := w.backups(t, 40, 12*time.Hour) // 20 days from 24 November to 13 December
	result, err := w.open(t).Prune(t.Context(), backup.Keep{Last: 2, Daily: 3, Weekly: 2, Monthly: 2}, false)
	if err != nil {
		t.Fatal(err)
	}
	// The last two are of the last day; two more days; the last of the week before; the last of November.
	want := []string{ids[0], ids[1], ids[2], ids[4], ids[14], ids[26]}
	if !slices.Equal(result.Kept, want) {
		t.Errorf("kept %v\nwant %v", result.Kept, want)
	}
	if len(result.Removed) != len(ids)-len(want) || result.Objects == 0 || result.Bytes == 0 || result.Waiting != "" {
		t.Errorf("%+v", result)
	}
	r := w.open(t)
	for _, id := range want {
		if _, err := r.Read(t.Context(), id, w.first); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	needed := map[string]bool{}
	for _, b := range must(r.List(t.Context())) {
		needed["tables/"+b.Table.SHA256] = true
		for _, p := range b.Packs {
			needed["packs/"+p.SHA256] = true
		}
	}
	for _, name := range append(names(w, "packs/"), names(w, "tables/")...) {
		if !needed[name] && w.now.Sub(begin) > 72*time.Hour && !young(w, name) {
			t.Errorf("%s is left", name)
		}
	}
}

// young reports whether an object is too new to be pruned.
func young(w *world, name string) bool {
	entries := must(w.memory.List(context.Background(), name))
	return w.now.Sub(entries[0].Modified) < 61*time.Hour
}

// TestPruneDry: nothing is removed, and the same is said.
func TestPruneDry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := w.backups(t, 5, 48*time.Hour)
	before := len(w.memory.Objects())
	dry, err := w.open(t).Prune(t.Context(), backup.Keep{}, true)
	if err != nil || len(w.memory.Objects()) != before {
		t.Fatalf("%d objects of %d are left, %v", len(w.memory.Objects()), before, err)
	}
	wet := must(w.open(t).Prune(t.Context(), backup.Keep{}, false))
	if !slices.Equal(dry.Removed, wet.Removed) || dry.Objects != wet.Objects || dry.Bytes != wet.Bytes || len(wet.Removed) != 4 || wet.Kept[0] != ids[0] {
		t.Errorf("said %+v, did %+v", dry, wet)
	}
}

// TestPruneWhileABackupIsWritten: what the writer relies on stays.
func TestPruneWhileABackupIsWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.backups(t, 3, 72*time.Hour)
	writer, err := w.open(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.pass(time.Hour)
	w.write(t, backuptest.Snapshot(5, w.now)) // another one is newer now
	packs := len(names(w, "packs/"))
	result := must(w.open(t).Prune(t.Context(), backup.Keep{Last: 1}, false))
	if result.Waiting == "" || len(names(w, "packs/")) != packs {
		t.Errorf("%d packs of %d are left: %+v", len(names(w, "packs/")), packs, result)
	}
	s := backuptest.Snapshot(1, w.now)
	for _, o := range s.Objects {
		text := must(o.MarshalJSON())
		if err := writer.Add(t.Context(), backup.Object{Group: o.GroupVersionKind().Group, Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), JSON: text}); err != nil {
			t.Fatal(err)
		}
	}
	b, err := writer.Commit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	sameSnapshot(t, must(w.open(t).Read(t.Context(), b.ID, w.first)), s)
}

// TestPruneWhileABackupEnds: one that is listed after prune has looked keeps what it has of a
// backup that goes.
func TestPruneWhileABackupEnds(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t), backuptest.Snapshot(3, begin)
	w.write(t, s)
	w.pass(72 * time.Hour)
	writer := must(w.open(t).Begin(t.Context()))
	for _, o := range s.Objects {
		if err := writer.Add(t.Context(), backup.Object{Group: o.GroupVersionKind().Group, Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), JSON: must(o.MarshalJSON())}); err != nil {
			t.Fatal(err)
		}
	}
	second := *w // another machine of the environment, whose writer has a key of its own
	second.options.Key = must(backup.NewKey())
	w.pass(time.Hour)
	second.write(t, backuptest.Snapshot(3, w.now))
	var ended backup.Backup
	w.memory.Fault = func(ctx context.Context, verb, name string) error {
		if verb != "list" || name != "" {
			return nil
		}
		w.memory.Fault = nil
		var err error
		ended, err = writer.Commit(ctx, s)
		return err
	}
	result := must(second.open(t).Prune(t.Context(), backup.Keep{Last: 1}, false))
	if len(result.Removed) != 1 || result.Objects != 0 || !strings.Contains(result.Waiting, ended.ID) {
		t.Errorf("%+v", result)
	}
	sameSnapshot(t, must(w.open(t).Read(t.Context(), ended.ID, w.first)), s)
}

// TestAPackThatVanishes: a writer does not list a backup whose packs are not there.
func TestAPackThatVanishes(t *testing.T) {
	t.Parallel()
	w, s := newWorld(t), backuptest.Snapshot(3, begin)
	w.write(t, s)
	w.pass(time.Hour)
	writer := must(w.open(t).Begin(t.Context()))
	for _, name := range names(w, "packs/") {
		w.memory.Forge(name, nil)
	}
	for _, o := range s.Objects {
		if err := writer.Add(t.Context(), backup.Object{Group: o.GroupVersionKind().Group, Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), JSON: must(o.MarshalJSON())}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := writer.Commit(t.Context(), s); err == nil || !strings.Contains(err.Error(), "removed or changed meanwhile") {
		t.Errorf("%v", err)
	}
	if len(names(w, "backups/")) != 1 {
		t.Error("it is listed")
	}
}

// TestABackupThatIsPrunedWhileItIsVerified is no damaged one.
func TestABackupThatIsPrunedWhileItIsVerified(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := w.backups(t, 2, 96*time.Hour)
	all := must(w.open(t).List(t.Context()))
	must(w.open(t).Prune(t.Context(), backup.Keep{Last: 1}, false))
	if v := must(w.open(t).Verify(t.Context(), all[1])); all[1].ID != ids[1] || !v.Pruned || len(v.Problems) > 0 {
		t.Errorf("%+v", v)
	}
	w.memory.Forge("tables/"+all[0].Table.SHA256, nil)
	if v := must(w.open(t).Verify(t.Context(), all[0])); v.Pruned || len(v.Problems) != 1 {
		t.Errorf("one that is listed: %+v", v)
	}
}

// TestABackupThatIsPrunedBeforeItIsDecrypted is no error either: its parts are there still, and the
// others are to be verified too.
func TestABackupThatIsPrunedBeforeItIsDecrypted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.backups(t, 2, time.Hour)
	r := w.open(t)
	old := must(r.List(t.Context()))[1]
	w.memory.Fault = func(_ context.Context, verb, name string) error {
		if verb == "list" && name == "backups/" { // to be decrypted, it is looked for
			w.memory.Forge("backups/"+old.ID, nil)
		}
		return nil
	}
	v, err := r.Verify(t.Context(), old, w.first)
	if err != nil || !v.Pruned || v.Decrypted || len(v.Problems) > 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestPruneUnderALock: what a retention lock keeps stays, with all that it needs.
func TestPruneUnderALock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := w.backups(t, 4, 72*time.Hour)
	locked := "backups/" + ids[2]
	w.memory.Fault = func(_ context.Context, verb, name string) error {
		if verb == "delete" && name == locked {
			return fmt.Errorf("retention: %w", target.ErrDenied)
		}
		return nil
	}
	result := must(w.open(t).Prune(t.Context(), backup.Keep{Last: 1}, false))
	if result.Locked != 1 || !slices.Contains(result.Kept, ids[2]) || len(result.Removed) != 2 {
		t.Errorf("%+v", result)
	}
	if _, err := w.open(t).Read(t.Context(), ids[2], w.first); err != nil {
		t.Errorf("the locked one: %v", err)
	}
}

// TestPruneKeepsTheOnlyGoodOne: damaged backups do not count as kept.
func TestPruneKeepsTheOnlyGoodOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := w.backups(t, 3, 72*time.Hour)
	for _, id := range ids[:2] {
		w.memory.Forge("backups/"+id, []byte("damaged\n"))
	}
	result := must(w.open(t).Prune(t.Context(), backup.Keep{Last: 1}, false))
	if len(result.Removed) != 0 || len(result.Kept) != 3 {
		t.Errorf("%+v", result)
	}
	if _, err := w.open(t).Read(t.Context(), ids[2], w.first); err != nil {
		t.Error(err)
	}
}

// TestTheWayBackIsKept: a backup stays until its time whatever else is kept, with all that
// it needs, and goes then.
func TestTheWayBackIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	writer := must(w.open(t).Begin(t.Context()))
	writer.KeepUntil(w.now.Add(72 * time.Hour))
	s := backuptest.Snapshot(1, w.now)
	must(writer.AddFile(backup.FileControllers, strings.NewReader("what was applied")))
	for _, o := range s.Objects {
		text := must(o.MarshalJSON())
		if err := writer.Add(t.Context(), backup.Object{Group: o.GroupVersionKind().Group, Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), JSON: text}); err != nil {
			t.Fatal(err)
		}
	}
	back := must(writer.Commit(t.Context(), s))
	if back.Applied == 0 || !back.KeepUntil.Equal(w.now.Add(72*time.Hour)) {
		t.Errorf("%+v", back)
	}
	w.pass(time.Hour)
	w.backups(t, 3, time.Hour)
	w.pass(60 * time.Hour)
	if result := must(w.open(t).Prune(t.Context(), backup.Keep{Last: 1}, false)); !slices.Contains(result.Kept, back.ID) || len(result.Kept) != 2 {
		t.Errorf("kept %v, without %s", result.Kept, back.ID)
	}
	if got := must(w.open(t).Read(t.Context(), back.ID, w.first)); string(got.Applied) != "what was applied" {
		t.Errorf("it has %q", got.Applied)
	}
	w.pass(12 * time.Hour)
	if result := must(w.open(t).Prune(t.Context(), backup.Keep{Last: 1}, false)); !slices.Equal(result.Removed, []string{back.ID}) {
		t.Errorf("removed %v", result.Removed)
	}
}

// TestAPinnedBackupStays past its time, until the pin is over: an undo is in the middle of going
// back to it. Pins that are over go, also where a lock keeps the first half of one for a while.
func TestAPinnedBackupStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := w.backups(t, 3, 24*time.Hour)
	back := ids[1]
	for range 2 { // an undo that goes on pins again
		if err := w.open(t).Pin(t.Context(), backup.HolderUndo, back); err != nil {
			t.Fatal(err)
		}
	}
	prune := func(kept ...string) backup.Pruned {
		t.Helper()
		result := must(w.open(t).Prune(t.Context(), backup.Keep{Last: 1}, false))
		if !slices.Equal(result.Kept, kept) {
			t.Errorf("kept %v, not %v", result.Kept, kept)
		}
		return result
	}
	if result := prune(ids[0], back); !slices.Equal(result.Pinned, []string{back}) {
		t.Errorf("pinned are %v", result.Pinned)
	}
	if all := must(w.open(t).Pinned(t.Context())); len(all) != 1 || !slices.Equal(all[back], []backup.Holder{backup.HolderUndo}) {
		t.Errorf("pinned are %v", all)
	}
	if err := w.open(t).Unpin(t.Context(), backup.HolderUndo, back); err != nil {
		t.Fatal(err)
	}
	if all := must(w.open(t).Pinned(t.Context())); len(all) > 0 {
		t.Errorf("still pinned are %v", all)
	}
	w.memory.Fault = func(_ context.Context, verb, name string) error {
		if verb == "delete" && name == "pins/"+back {
			return fmt.Errorf("retention: %w", target.ErrDenied)
		}
		return nil
	}
	prune(ids[0])
	if left := names(w, "pins/"); len(left) != 2 {
		t.Errorf("under a lock are left: %v", left)
	}
	w.memory.Fault = nil
	prune(ids[0])
	if left := names(w, "pins/"); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}
