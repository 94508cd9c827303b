package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/backup/target"
	"github.com/slipway-sh/slipway/internal/fault"
)

// parallelReads is how many small objects are read at once.
const parallelReads = 8

// List returns the backups, newest first. A damaged or forged one is among them,
// with its Damage and its ID alone: it hides no other. One that a clock which was ahead dated
// (Backup.Dated) is where it was stored.
func (r *Repository) List(ctx context.Context) ([]Backup, error) {
	entries, err := r.target.List(ctx, backupFolder)
	if err != nil {
		return nil, fmt.Errorf("listing the backups: %w", err)
	}
	all := make([]Backup, len(entries))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelReads)
	for i, e := range entries {
		group.Go(func() (err error) {
			all[i], err = r.look(ctx, e)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("listing the backups: %w", err)
	}
	dateAhead(all, entries, r.options.Now())
	all = slices.DeleteFunc(all, func(b Backup) bool { return b.ID == "" }) // pruned meanwhile
	slices.SortFunc(all, func(x, y Backup) int { return strings.Compare(y.order(), x.order()) })
	return all, nil
}

// look reads one backup. What is wrong with its content is in Damage; the error is
// of the target.
func (r *Repository) look(ctx context.Context, e target.Entry) (Backup, error) {
	id := strings.TrimPrefix(e.Name, backupFolder)
	text, err := r.get(ctx, backupFolder+id, maxSmall)
	if errors.Is(err, target.ErrAbsent) {
		return Backup{}, nil
	}
	if err != nil {
		return Backup{}, err
	}
	b, err := decodeBackup(id, text)
	if err == nil {
		err = r.accept(b)
	}
	if err != nil {
		return Backup{ID: id, Damage: err.Error()}, nil
	}
	b.Dated = time.Time{} // nobody signs it
	return b, nil
}

// Find returns the backup of an ID, or of the only one that begins with it; "" and
// "latest" are the newest.
func (r *Repository) Find(ctx context.Context, id string) (Backup, error) {
	if id == "" || id == "latest" {
		return r.Latest(ctx, time.Time{})
	}
	all, err := r.List(ctx)
	if err != nil {
		return Backup{}, err
	}
	all = slices.DeleteFunc(all, func(b Backup) bool { return !strings.HasPrefix(b.ID, id) })
	switch {
	case len(all) == 0:
		return Backup{}, fault.Usage("backup "+id, errors.New("there is no such backup"), "see slipway backup list")
	case len(all) > 1:
		return Backup{}, fault.Usage("backup "+id, fmt.Errorf("%d backups begin with this", len(all)), "give more of the ID")
	case all[0].Damage != "":
		return Backup{}, r.damaged(backupFolder+all[0].ID, errors.New(all[0].Damage))
	}
	return all[0], nil
}

// Latest returns the newest backup that was taken at a time or before; the zero time
// is now. Damaged ones are passed over.
func (r *Repository) Latest(ctx context.Context, at time.Time) (Backup, error) {
	all, err := r.List(ctx)
	if err != nil {
		return Backup{}, err
	}
	newest, found, oldest := Backup{}, false, time.Time{} // of those that can be used
	for _, b := range all {
		if b.Damage != "" {
			continue
		}
		if (at.IsZero() || !b.Taken.After(at)) && (!found || b.Taken.After(newest.Taken)) {
			newest, found = b, true
		}
		if oldest.IsZero() || b.Taken.Before(oldest) {
			oldest = b.Taken
		}
	}
	switch {
	case found:
		return newest, nil
	case !oldest.IsZero():
		return newest, fault.Usage(r.target.String(), fmt.Errorf("the oldest backup is of %s, after %s", oldest.Format(time.RFC3339), at.Format(time.RFC3339)), "name a later time")
	case len(all) > 0:
		return newest, fault.New(r.target.String(), fmt.Errorf("none of the %d backups can be used", len(all)), "see why with slipway backup list")
	}
	return newest, fault.New(r.target.String(), errors.New("there are no backups"), "make one with slipway backup create, or name another target")
}
