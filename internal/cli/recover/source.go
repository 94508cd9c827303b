package recover

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/cli/vault"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Found is what a Source has read.
type Found struct {
	// ID is the backup's, Snapshot what is in it.
	ID       string
	Snapshot *snapshot.Snapshot
	// Datastore is the newest copy of the seed's datastore; nil if there is none.
	Datastore *Datastore
	// Note is why there may be a newer copy that could not be read, and that the time of the
	// backup is not its own.
	Note string
	// Pins are of where the backup is.
	Pins Pins
}

// Pins keep backups whatever slipway backup prune removes.
type Pins interface {
	Pin(ctx context.Context, by backup.Holder, id string) error
	Unpin(ctx context.Context, by backup.Holder, id string) error
	Pinned(ctx context.Context) (map[string][]backup.Holder, error)
}

// Datastore is a copy of the seed's datastore.
type Datastore struct {
	// Backup is the ID of the backup that has it, Taken its time.
	Backup string    `json:"backup"`
	Taken  time.Time `json:"taken"`
	// Archive is of package datastore, Cloud what the cloud had at that moment.
	Archive []byte             `json:"-"`
	Cloud   snapshot.Inventory `json:"-"`
}

// Vault reads from the backups of the environment.
func Vault(ctx context.Context, loaded *config.Loaded, w Wanted) (Found, error) {
	repository, err := vault.Open(ctx, loaded, w.From)
	if err != nil {
		return Found{}, err
	}
	latest, err := repository.Latest(ctx, w.At)
	if w.ID != "" {
		latest, err = repository.Find(ctx, w.ID)
	}
	if err != nil {
		return Found{}, err
	}
	found := Found{ID: latest.ID, Pins: repository}
	if found.Snapshot, err = repository.Read(ctx, latest.ID, w.Identities...); err != nil {
		return found, err
	}
	if !latest.Dated.IsZero() {
		found.Snapshot.Taken = latest.Taken
		found.Note = fmt.Sprintf("backup %s is dated %s, after it was stored: the clock of the machine that made it was ahead. It counts as of %s, when it was stored",
			latest.ID, latest.Dated.Format(time.RFC3339), latest.Taken.Format(time.RFC3339))
	}
	found.Datastore = copyIn(latest, found.Snapshot)
	var newer *Datastore
	seed, err := vault.OpenSeed(ctx, loaded, w.From)
	if err == nil {
		newer, err = newerCopy(ctx, seed, found.Datastore, w)
	}
	if newer != nil {
		found.Datastore = newer
	}
	if ctx.Err() != nil {
		return found, context.Cause(ctx)
	}
	if err != nil { // the repair at hand may need none, or the older one may do
		unread := "if the seed made a newer copy of its datastore, it cannot be read: " + err.Error()
		found.Note = strings.TrimPrefix(found.Note+"; "+unread, "; ")
	}
	return found, nil
}

// newerCopy is the newest copy that the seed has made, unless the one at hand is newer. That
// there is none is no error.
func newerCopy(ctx context.Context, seed *backup.Repository, than *Datastore, w Wanted) (*Datastore, error) {
	all, err := seed.List(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	latest, err := seed.Latest(ctx, w.At)
	if broken := (*fault.Fault)(nil); errors.As(err, &broken) && broken.Exit == fault.ExitUsage {
		return nil, nil //nolint:nilerr // all are of after --at
	}
	if err != nil || than != nil && !latest.Taken.After(than.Taken) {
		return nil, err
	}
	s, err := seed.Read(ctx, latest.ID, w.Identities...)
	if err != nil {
		return nil, err
	}
	return copyIn(latest, s), nil
}

// copyIn is the copy in a backup, nil if it has none.
func copyIn(b backup.Backup, s *snapshot.Snapshot) *Datastore {
	if len(s.Datastore) == 0 {
		return nil
	}
	return &Datastore{Backup: b.ID, Taken: b.Taken, Archive: s.Datastore, Cloud: s.Cloud}
}
