package recover

import (
	"context"
	"maps"
	"slices"

	"github.com/slipway-sh/slipway/internal/backup"
)

// keep pins the backup for the rebuild: one that is left alone for days needs it to continue.
func (r *rebuild) keep(ctx context.Context) error {
	err := r.pins.Pin(ctx, backup.HolderRecover, r.result.Backup)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil { // as where the login may only read
		r.tell("finish this soon: slipway backup prune may remove backup " + r.result.Backup + ", which could not be pinned: " + err.Error())
	}
	return nil
}

// letOthersGo ends the pins of all rebuilds but the one from a backup, which "" is none of: they
// are complete, or were given up. Nothing else depends on it.
func (r *rebuild) letOthersGo(ctx context.Context, but string) {
	pinned, err := r.pins.Pinned(ctx)
	for _, id := range slices.Sorted(maps.Keys(pinned)) {
		if err == nil && id != but && slices.Contains(pinned[id], backup.HolderRecover) {
			err = r.pins.Unpin(ctx, backup.HolderRecover, id)
		}
	}
	if err != nil {
		r.tell("slipway backup prune may keep a backup that no rebuild needs any more: " + err.Error())
	}
}
