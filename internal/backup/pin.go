package backup

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/backup/target"
)

// pinDone ends the name of the object that says that a pin is over. The pin itself may be
// under a retention lock.
const pinDone = ".done"

// Holder is the command for which a pin keeps a backup.
type Holder string

// The holders.
const (
	HolderUndo    Holder = "undo"
	HolderRecover Holder = "recover"
)

// Pin makes Prune keep a backup until Unpin, also after its KeepUntil: a command is in the
// middle of going back to it. Pinning again changes nothing; after Unpin it is another pin.
func (r *Repository) Pin(ctx context.Context, by Holder, id string) error {
	p, err := r.pins(ctx)
	if err == nil && !slices.ContainsFunc(p.hold[id], by.has) {
		err = r.put(ctx, p.free(by, id), by.content())
	}
	if err != nil {
		return fmt.Errorf("pinning backup %s: %w", id, err)
	}
	return nil
}

// Unpin ends Pin.
func (r *Repository) Unpin(ctx context.Context, by Holder, id string) error {
	p, err := r.pins(ctx)
	for _, one := range p.hold[id] {
		if err == nil && by.has(one) {
			err = r.put(ctx, one.name+pinDone, by.content())
		}
	}
	if err != nil {
		return fmt.Errorf("unpinning backup %s: %w", id, err)
	}
	return nil
}

// Pinned are those for whom pins keep backups, by the ID of the backup.
func (r *Repository) Pinned(ctx context.Context) (map[string][]Holder, error) {
	p, err := r.pins(ctx)
	found := map[string][]Holder{}
	for id, all := range p.hold {
		for _, one := range all {
			found[id] = append(found[id], one.by)
		}
		slices.Sort(found[id])
		found[id] = slices.Compact(found[id])
	}
	return found, err
}

// outliving is how much later than a pin a backup must be stored to outlive it: one that was being
// written when the pin was made is of before.
const outliving = 24 * time.Hour

// Outlived reports whether a good backup was stored long after a holder pinned one. No management
// cluster makes backups while it is being rebuilt, so that one which says nothing of a rebuild has
// lived on, or was made in another way.
func (r *Repository) Outlived(ctx context.Context, by Holder, id string) (bool, error) {
	p, err := r.pins(ctx)
	if err != nil {
		return false, err
	}
	var since time.Time
	for _, one := range p.hold[id] {
		if by.has(one) && one.made.After(since) {
			since = one.made
		}
	}
	entries, err := r.target.List(ctx, backupFolder)
	for _, e := range entries {
		if err != nil || since.IsZero() || e.Modified.Sub(since) < outliving {
			continue
		}
		var b Backup
		if b, err = r.look(ctx, e); err == nil && b.usable() {
			return true, nil
		}
	}
	if err != nil {
		return false, fmt.Errorf("listing the backups: %w", err)
	}
	return false, nil
}

// has reports whether a pin is one of the holder.
func (h Holder) has(one pin) bool { return one.by == h }

func (h Holder) content() []byte { return []byte("slipway " + string(h) + "\n") }

// pin is one that holds.
type pin struct {
	by   Holder
	name string    // of its object
	made time.Time // by the target's clock
}

// pins are the pins at the target: those that hold by the ID of their backup, and all objects.
// The first of an undo is pins/ID, others are pins/ID.HOLDER and pins/ID.HOLDER-N.
type pins struct {
	hold map[string][]pin
	all  []target.Entry
}

func (r *Repository) pins(ctx context.Context) (p pins, err error) {
	p.hold = map[string][]pin{}
	if p.all, err = r.target.List(ctx, pinFolder); err != nil {
		return p, fmt.Errorf("listing the pins of backups: %w", err)
	}
	there := p.names()
	for _, e := range p.all {
		if strings.HasSuffix(e.Name, pinDone) || there[e.Name+pinDone] {
			continue
		}
		id, rest, _ := strings.Cut(strings.TrimPrefix(e.Name, pinFolder), ".")
		by, _, _ := strings.Cut(rest, "-")
		if by == "" {
			by = string(HolderUndo)
		}
		p.hold[id] = append(p.hold[id], pin{Holder(by), e.Name, e.Modified})
	}
	return p, nil
}

// names are those of all objects.
func (p pins) names() map[string]bool {
	there := map[string]bool{}
	for _, e := range p.all {
		there[e.Name] = true
	}
	return there
}

// free is the name of a new pin: that of one which is over says so for good.
func (p pins) free(by Holder, id string) string {
	there := p.names()
	name := pinFolder + id
	if by != HolderUndo {
		name += "." + string(by)
	}
	for n := 2; there[name] || there[name+pinDone]; n++ {
		name = pinFolder + id + "." + string(by) + "-" + strconv.Itoa(n)
	}
	return name
}

// removePins removes the pins that are over and those of backups that are gone: the pin first,
// as without its end it would hold again.
func (r *Repository) removePins(ctx context.Context, p pins, known map[string]bool, dry bool) error {
	there := p.names()
	for _, e := range p.all {
		name, done := strings.CutSuffix(e.Name, pinDone)
		id, _, _ := strings.Cut(strings.TrimPrefix(name, pinFolder), ".")
		if !done && !there[name+pinDone] && known[id] {
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
