package restore

import (
	"context"
	"maps"
	"slices"

	"github.com/slipway-sh/slipway/internal/backup"
)

// EndPins ends the pins of rebuilds that need their backup no more: one that is killed when all is
// done leaves its own, and so does one that is killed before it has begun on the management cluster
// and that nobody continues. A management cluster that has none on record and has been backed up
// since does not wait for it.
func (r Rebuild) EndPins(ctx context.Context, of *backup.Repository) error {
	pinned, err := of.Pinned(ctx)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(pinned)) {
		if !slices.Contains(pinned[id], backup.HolderRecover) {
			continue
		}
		over := r.Over(id)
		if !over && r.Begun == "" {
			if over, err = of.Outlived(ctx, backup.HolderRecover, id); err != nil {
				return err
			}
		}
		if !over {
			continue
		}
		if err := of.Unpin(ctx, backup.HolderRecover, id); err != nil {
			return err
		}
	}
	return nil
}
