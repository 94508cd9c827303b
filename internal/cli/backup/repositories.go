package backup

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/cli/vault"
	"github.com/slipway-sh/slipway/internal/config"
)

// What a backup is of.
const (
	ofManagement = "management"
	ofSeed       = "seed"
)

// repositories are those of an environment: its backups, and those that the seed makes of
// its datastore.
type repositories struct{ management, seed *backup.Repository }

// listed is a backup, and what it is of.
type listed struct {
	Of string `json:"of"`
	// PinnedBy are the commands that are in the middle of using it: prune keeps it.
	PinnedBy []backup.Holder `json:"pinnedBy,omitempty"`
	backup.Backup
}

// open opens the repositories of the environment that the flags name.
func open(ctx context.Context, from vault.Flags) (repositories, error) {
	loaded, err := from.Load()
	if err != nil {
		return repositories{}, err
	}
	return openIn(ctx, loaded, from.Target)
}

func openIn(ctx context.Context, loaded *config.Loaded, url string) (r repositories, err error) {
	if r.management, err = vault.Open(ctx, loaded, url); err != nil {
		return r, err
	}
	r.seed, err = vault.OpenSeed(ctx, loaded, url)
	return r, err
}

// of is where a backup is.
func (r repositories) of(b listed) *backup.Repository {
	if b.Of == ofSeed {
		return r.seed
	}
	return r.management
}

// list returns all backups: those of the management cluster, then the seed's, each newest
// first. Whoever takes the first takes the newest that restores everything.
func (r repositories) list(ctx context.Context) ([]listed, error) {
	pinned, err := r.management.Pinned(ctx)
	if err != nil {
		return nil, err
	}
	all := []listed{}
	for _, of := range []string{ofManagement, ofSeed} {
		found, err := r.of(listed{Of: of}).List(ctx)
		if err != nil {
			return nil, err
		}
		for _, b := range found {
			all = append(all, listed{of, pinned[b.ID], b})
		}
	}
	return all, nil
}

// find is backup.Repository.Find. The newest, which "" is, is one of the management cluster.
func (r repositories) find(ctx context.Context, id string) (of string, b backup.Backup, err error) {
	if b, err = r.management.Find(ctx, id); err == nil || id == "" || id == "latest" {
		return ofManagement, b, err
	}
	all, listing := r.seed.List(ctx)
	if listing != nil || !slices.ContainsFunc(all, func(b backup.Backup) bool { return strings.HasPrefix(b.ID, id) }) {
		return ofManagement, b, errors.Join(err, listing)
	}
	b, err = r.seed.Find(ctx, id)
	return ofSeed, b, err
}

// prune prunes both: each keeps as many as spec.backup.keep says.
func (r repositories) prune(ctx context.Context, keep backup.Keep, dry bool) (backup.Pruned, error) {
	all, err := r.management.Prune(ctx, keep, dry)
	if err != nil {
		return all, err
	}
	more, err := r.seed.Prune(ctx, keep, dry)
	all.Kept, all.Removed = append(all.Kept, more.Kept...), append(all.Removed, more.Removed...)
	all.Pinned = append(all.Pinned, more.Pinned...)
	all.Objects, all.Bytes, all.Locked = all.Objects+more.Objects, all.Bytes+more.Bytes, all.Locked+more.Locked
	all.Waiting = cmp.Or(all.Waiting, more.Waiting)
	return all, err
}
