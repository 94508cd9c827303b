package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/backup/target"
)

// Keep is which backups stay: the last so many, and the newest one of each of the
// last so many days, weeks and months that have one (UTC). The newest always stays, and
// so does one until its KeepUntil, and one that is pinned. One whose time is still to come
// stays until then, and takes the place of no other.
type Keep struct {
	Last, Daily, Weekly, Monthly int
}

// Pruned is what Prune removed, or would remove.
type Pruned struct {
	Kept    []string `json:"kept"`
	Removed []string `json:"removed"`
	// Pinned are those that are kept for an undo or a rebuild that is half done.
	Pinned []string `json:"pinned,omitempty"`
	// Objects and Bytes count what was removed besides.
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
	// Locked are objects that a retention lock keeps.
	Locked int `json:"locked,omitempty"`
	// Waiting says that a backup is being written, so that packs stay.
	Waiting string `json:"waiting,omitempty"`
}

// choose parts the backups, newest first, into those that stay and those that go.
// A damaged one goes when it is older than all that stay: its time is in its ID.
func (k Keep) choose(all []Backup, pinned map[string][]pin, now time.Time) (stay, leave []Backup) {
	periods := []struct {
		most int
		of   func(time.Time) string
	}{
		{k.Daily, func(t time.Time) string { return t.Format(time.DateOnly) }},
		{k.Weekly, func(t time.Time) string { year, week := t.ISOWeek(); return fmt.Sprint(year, week) }},
		{k.Monthly, func(t time.Time) string { return t.Format("2006-01") }},
	}
	seen := make([]map[string]bool, len(periods))
	good := 0
	for _, b := range all {
		if b.Damage != "" {
			leave = append(leave, b)
			continue
		}
		if b.Dated.After(now) {
			stay = append(stay, b)
			continue
		}
		wanted := good < max(k.Last, 1) || b.KeepUntil.After(now) || len(pinned[b.ID]) > 0
		good++
		for i, period := range periods {
			if seen[i] == nil {
				seen[i] = map[string]bool{}
			}
			if name := period.of(b.Taken.UTC()); !seen[i][name] && len(seen[i]) < period.most {
				seen[i][name], wanted = true, true
			}
		}
		if wanted {
			stay = append(stay, b)
		} else {
			leave = append(leave, b)
		}
	}
	return keepYoungDamaged(stay, leave, now)
}

// keepYoungDamaged keeps the damaged backups that are younger than the oldest one
// that stays: somebody may want to look at them.
func keepYoungDamaged(stay, leave []Backup, now time.Time) (all, rest []Backup) {
	oldest := ""
	for _, b := range stay {
		if !b.Dated.After(now) {
			oldest = b.order()
		}
	}
	if oldest == "" {
		return slices.Concat(stay, leave), nil // nothing is good: nothing goes
	}
	for _, b := range leave {
		if b.Damage != "" && strings.Compare(b.ID, oldest) > 0 {
			stay = append(stay, b)
		} else {
			rest = append(rest, b)
		}
	}
	return stay, rest
}

// Prune removes backups that are not to be kept, and then packs that no backup names
// and no writer relies on. Only Prune removes anything. With dry it only says what
// it would remove.
func (r *Repository) Prune(ctx context.Context, keep Keep, dry bool) (Pruned, error) {
	now := r.options.Now() // before the pins are listed: who pins does it before KeepUntil is over
	pinned, err := r.pins(ctx)
	if err != nil {
		return Pruned{}, err
	}
	all, err := r.List(ctx)
	if err != nil {
		return Pruned{}, err
	}
	result := Pruned{Kept: []string{}, Removed: []string{}}
	stay, leave := keep.choose(all, pinned.hold, now)
	named, known := map[string]bool{}, map[string]bool{}
	for _, b := range all {
		known[b.ID] = true
	}
	for _, b := range stay {
		result.Kept = append(result.Kept, b.ID)
		if len(pinned.hold[b.ID]) > 0 {
			result.Pinned = append(result.Pinned, b.ID)
		}
		if b.Damage != "" {
			result.Waiting = "damaged backup " + b.ID + " is younger than others that stay, and nobody knows what it needs"
		}
		named[tableFolder+b.Table.SHA256], named[writersFolder+b.ID] = true, true
		for _, p := range b.Packs {
			named[packFolder+p.SHA256] = true
		}
	}
	for _, b := range leave {
		gone, err := r.remove(ctx, backupFolder+b.ID, dry)
		switch {
		case err != nil:
			return result, err
		case gone:
			result.Removed = append(result.Removed, b.ID)
			continue
		}
		result.Locked++ // it is listed still, so what it needs must stay
		result.Kept = append(result.Kept, b.ID)
		named[tableFolder+b.Table.SHA256] = true
		for _, p := range b.Packs {
			named[packFolder+p.SHA256] = true
		}
	}
	if err := r.removePins(ctx, pinned, known, dry); err != nil {
		return result, err
	}
	return result, r.sweep(ctx, named, known, &result, dry)
}

// sweep removes what is not named and is old. A writer that began before the backups
// were removed may rely on their packs, so that they stay while one is at work, and when one
// has just ended: what its backup needs is not among what is named.
func (r *Repository) sweep(ctx context.Context, named, known map[string]bool, result *Pruned, dry bool) error {
	entries, err := r.target.List(ctx, "")
	if err != nil {
		return fmt.Errorf("pruning: %w", err)
	}
	// The target's own clock: ours could be ahead, and a young pack would seem old.
	now := time.Time{}
	finished := map[string]bool{}
	for _, e := range entries {
		if e.Modified.After(now) {
			now = e.Modified
		}
		if id, ok := strings.CutPrefix(e.Name, backupFolder); ok {
			finished[id] = true
			if !known[id] {
				result.Waiting = "backup " + id + " was made meanwhile"
			}
		}
	}
	for _, e := range entries {
		id, ok := strings.CutPrefix(e.Name, writersFolder)
		if ok && !finished[id] && !slices.Contains(result.Removed, id) && now.Sub(e.Modified) < reuseTime {
			result.Waiting = "backup " + id + " is being written, or was ended less than a day ago before it was whole"
		}
	}
	if result.Waiting != "" {
		return nil
	}
	for _, e := range entries {
		folder, _, _ := strings.Cut(e.Name, "/")
		if named[e.Name] || folder+"/" != packFolder && folder+"/" != tableFolder && folder+"/" != writersFolder || now.Sub(e.Modified) < pruneTime {
			continue
		}
		gone, err := r.remove(ctx, e.Name, dry)
		if err != nil {
			return err
		}
		if gone {
			result.Objects, result.Bytes = result.Objects+1, result.Bytes+e.Size
		} else {
			result.Locked++
		}
	}
	all := []string{"", packFolder, tableFolder, writersFolder, backupFolder, pinFolder}
	files, size, err := target.Tidy(r.target, all, now.Add(-pruneTime), dry)
	result.Objects, result.Bytes = result.Objects+files, result.Bytes+size
	if err != nil {
		return fmt.Errorf("pruning: %w", err)
	}
	return nil
}

// remove reports whether an object is gone; one under a retention lock is not.
func (r *Repository) remove(ctx context.Context, name string, dry bool) (bool, error) {
	if dry {
		return true, nil
	}
	err := r.target.Delete(ctx, name)
	if errors.Is(err, target.ErrDenied) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("pruning: %w", err)
	}
	return true, nil
}
