package backup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/backup/target"
)

// pinDone ends the name of the object that says that a pin is over. The pin itself may be
// under a retention lock.
const pinDone = ".done"

// Pin makes Prune keep a backup until Unpin, also after its KeepUntil: slipway undo is in the
// middle of going back to it. Pinning again changes nothing.
func (r *Repository) Pin(ctx context.Context, id string) error {
	return r.pin(ctx, "pinning", id, "")
}

// Unpin ends Pin, for good.
func (r *Repository) Unpin(ctx context.Context, id string) error {
	return r.pin(ctx, "unpinning", id, pinDone)
}

// Pinned are the backups that pins keep, oldest first.
func (r *Repository) Pinned(ctx context.Context) ([]string, error) {
	p, err := r.pins(ctx)
	return slices.Sorted(maps.Keys(p.hold)), err
}

func (r *Repository) pin(ctx context.Context, what, id, suffix string) error {
	if err := r.put(ctx, pinFolder+id+suffix, []byte("slipway undo\n")); err != nil {
		return fmt.Errorf("%s backup %s: %w", what, id, err)
	}
	return nil
}

// pins are the pins at the target: those that hold by the ID of their backup, and all objects.
type pins struct {
	hold map[string]bool
	all  []target.Entry
}

func (r *Repository) pins(ctx context.Context) (p pins, err error) {
	if p.all, err = r.target.List(ctx, pinFolder); err != nil {
		return p, fmt.Errorf("listing the pins of backups: %w", err)
	}
	p.hold = map[string]bool{}
	for _, e := range p.all {
		p.hold[strings.TrimPrefix(e.Name, pinFolder)] = true
	}
	for _, e := range p.all {
		if id, done := strings.CutSuffix(strings.TrimPrefix(e.Name, pinFolder), pinDone); done {
			delete(p.hold, id)
			delete(p.hold, id+pinDone)
		}
	}
	return p, nil
}

// removePins removes the pins that are over and those of backups that are gone: the pin first,
// as without its end it would hold again.
func (r *Repository) removePins(ctx context.Context, p pins, known map[string]bool, dry bool) error {
	there := map[string]bool{}
	for _, e := range p.all {
		there[e.Name] = true
	}
	for _, e := range p.all {
		name, done := strings.CutSuffix(e.Name, pinDone)
		if id := strings.TrimPrefix(name, pinFolder); p.hold[id] && known[id] {
			continue
		}
		if done && there[name] {
			continue // it goes after its pin
		}
		gone, err := r.remove(ctx, e.Name, dry)
		if err == nil && gone && there[name+pinDone] && !done {
			_, err = r.remove(ctx, name+pinDone, dry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
