package backup

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/fault"
)

// mostTime is how long a backup may take. prune leaves alone what a writer relies on
// for longer than that.
const mostTime = 20 * time.Hour

// Commit ends a backup with what is not an object of the cluster. The last that it
// stores is the object by which the backup is listed.
func (w *Writer) Commit(ctx context.Context, s *snapshot.Snapshot) (Backup, error) {
	if err := w.finish(s); err != nil {
		w.Abort()
		return Backup{}, fmt.Errorf("writing backup %s: %w", w.id, err)
	}
	if err := w.sending.Wait(); err != nil {
		return Backup{}, fmt.Errorf("writing backup %s: %w", w.id, err)
	}
	if err := w.present(ctx); err != nil {
		return Backup{}, err
	}
	b, err := w.describe(ctx, s)
	if err != nil {
		return Backup{}, fmt.Errorf("writing backup %s: %w", w.id, err)
	}
	text, err := b.encode(w.k.sign)
	if err == nil {
		err = w.r.put(ctx, backupFolder+w.id, text)
	}
	if err != nil {
		return Backup{}, fmt.Errorf("writing backup %s: %w", w.id, err)
	}
	return b, nil
}

// finish stores the last chunks.
func (w *Writer) finish(s *snapshot.Snapshot) error {
	if err := w.cut(); err != nil {
		return err
	}
	head := *s
	head.File, head.State, head.Cloud, head.Objects = nil, nil, snapshot.Inventory{}, nil
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if err := w.store(sectionHead, text); err != nil {
		return err
	}
	for section, content := range map[string][]byte{sectionFile: s.File, sectionState: s.State} {
		if len(content) == 0 {
			continue
		}
		if err := w.store(section, content); err != nil {
			return err
		}
	}
	if err := w.storeCloud(s.Cloud); err != nil {
		return err
	}
	return w.flush()
}

// storeCloud makes a chunk of each kind of resources, because they do not change
// together.
func (w *Writer) storeCloud(all snapshot.Inventory) error {
	for _, part := range []snapshot.Inventory{{Servers: all.Servers}, {Volumes: all.Volumes}, {LoadBalancers: all.LoadBalancers}, {FloatingIPs: all.FloatingIPs}, {Ports: all.Ports}, {Missing: all.Missing}} {
		text, err := json.Marshal(part)
		if err != nil {
			return err
		}
		if err := w.store(sectionCloud, text); err != nil {
			return err
		}
	}
	return nil
}

// present checks that all packs are at the target still: a prune that did not see
// this writer could have removed one.
func (w *Writer) present(ctx context.Context) error {
	if took := w.r.options.Now().Sub(w.begun); took > mostTime {
		return fault.New("backup "+w.id, fmt.Errorf("it took %s, and what it relies on may be pruned", took.Round(time.Minute)), "use a faster target, and run the same command again: it continues from what is stored")
	}
	there, err := w.r.sizes(ctx, packFolder)
	if err != nil {
		return fmt.Errorf("checking what is stored: %w", err)
	}
	for _, p := range w.packs {
		if size, ok := there[p.SHA256]; !ok || size != p.Size {
			return fault.New("backup "+w.id, fmt.Errorf("pack %s was removed or changed meanwhile", p.SHA256), "run the same command again")
		}
	}
	return nil
}

// sizes are those of the objects in a folder, by their names in it.
func (r *Repository) sizes(ctx context.Context, folder string) (map[string]int64, error) {
	entries, err := r.target.List(ctx, folder)
	if err != nil {
		return nil, err
	}
	sizes := make(map[string]int64, len(entries))
	for _, e := range entries {
		sizes[e.Name[len(folder):]] = e.Size
	}
	return sizes, nil
}

// describe stores the table and returns what everybody may read.
func (w *Writer) describe(ctx context.Context, s *snapshot.Snapshot) (Backup, error) {
	t := table{Sections: w.sections}
	for _, p := range w.packs {
		t.Packs = append(t.Packs, p.SHA256)
	}
	sealed, err := t.encode(w.k)
	if err != nil {
		return Backup{}, err
	}
	key, err := w.to.encrypt(w.r.options.Key[:])
	if err != nil {
		return Backup{}, err
	}
	part := Part{digest(sealed), int64(len(sealed))}
	if err := w.r.put(ctx, tableFolder+part.SHA256, sealed); err != nil {
		return Backup{}, err
	}
	return Backup{Format: Format, ID: w.id, Environment: w.r.Environment(), Generation: s.Generation, Taken: s.Taken.UTC(), Revision: s.Revision,
		Slipway: s.Slipway, Kubernetes: s.Kubernetes, Controllers: s.Controllers, Objects: w.objects, Bytes: w.bytes, Etcd: w.files[FileEtcd], Datastore: w.files[FileDatastore], Applied: w.files[FileControllers], KeepUntil: w.until,
		Cloud:   map[string]int{"servers": len(s.Cloud.Servers), "volumes": len(s.Cloud.Volumes), "loadBalancers": len(s.Cloud.LoadBalancers), "floatingIPs": len(s.Cloud.FloatingIPs), "ports": len(s.Cloud.Ports)},
		Written: w.written + part.Size, Recipients: w.to.names, Signer: w.r.options.Key.Signer(), Key: key, Table: part, Packs: w.packs}, nil
}
