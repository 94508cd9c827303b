package backup

import (
	"context"
	"errors"
	"time"

	"github.com/slipway-sh/slipway/internal/backup/target"
)

// reuseTime is how old what no backup names may be for a writer to use it: it is of
// a writer that was killed. prune removes it only when it is older than pruneTime,
// so that the two never meet.
const (
	reuseTime = 24 * time.Hour
	pruneTime = 2 * reuseTime
)

// mostOrphans bounds how many packs of killed writers are read.
const mostOrphans = 64

// learn finds the chunks that are stored already: those of the newest backup of the
// same writer and recipients, and those of writers that were killed.
func (w *Writer) learn(ctx context.Context) error {
	backups, err := w.r.List(ctx)
	if err != nil {
		return err
	}
	entries, err := w.r.target.List(ctx, packFolder)
	if err != nil {
		return err
	}
	there, named := map[string]int64{}, map[string]bool{}
	for _, e := range entries {
		there[e.Name[len(packFolder):]] = e.Size
	}
	found := false
	for _, b := range backups {
		for _, p := range b.Packs {
			named[p.SHA256] = true
		}
		if !found && b.Damage == "" && domain(b.Signer, b.Recipients) == w.domain {
			found = w.learnBackup(ctx, b, there) == nil
		}
	}
	orphans := 0
	for _, e := range entries {
		young := w.begun.Sub(e.Modified) < reuseTime
		if named[e.Name[len(packFolder):]] || !young || orphans == mostOrphans {
			continue
		}
		orphans++
		if err := w.learnPack(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// learnBackup takes the chunks of a backup whose packs are there. A pack of which
// less than a quarter is in use is written anew, so that prune can remove it.
func (w *Writer) learnBackup(ctx context.Context, b Backup, there map[string]int64) error {
	t, err := w.r.table(ctx, b, w.k)
	if err != nil {
		return err
	}
	used := make([]int64, len(t.Packs))
	for _, references := range t.Sections {
		for _, one := range references {
			used[one.Pack] += int64(one.Length)
		}
	}
	sizes := map[string]int64{}
	for _, p := range b.Packs {
		if there[p.SHA256] == p.Size {
			sizes[p.SHA256] = p.Size
		}
	}
	for _, references := range t.Sections {
		for _, one := range references {
			name := t.Packs[one.Pack]
			if size := sizes[name]; size > 0 && (used[one.Pack]*4 >= size || size < 1<<20) {
				w.known[one.ID] = place{Part{name, size}, one.piece}
			}
		}
	}
	return nil
}

// learnPack takes the chunks of a pack that a killed writer stored. One of another
// writer is not ours to use.
func (w *Writer) learnPack(ctx context.Context, e target.Entry) error {
	whole, err := w.r.get(ctx, e.Name, maxPack)
	if errors.Is(err, target.ErrAbsent) {
		return nil
	}
	if err != nil {
		return err
	}
	name := e.Name[len(packFolder):]
	list, err := pieces(w.k, w.domain, whole)
	if err != nil || digest(whole) != name {
		return nil //nolint:nilerr // it is of another writer, or damaged: what it had is stored again
	}
	for _, one := range list {
		w.known[one.ID] = place{Part{name, int64(len(whole))}, one}
	}
	return nil
}
