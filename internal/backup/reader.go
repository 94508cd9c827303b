package backup

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"filippo.io/age"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/backup/snapshot"
	"github.com/slipway-sh/slipway/internal/backup/target"
)

// maxChunk bounds a chunk in bytes: an object of Kubernetes has at most 1.5 MiB, a
// state can have more.
const maxChunk = 1 << 30

// Read reads a whole backup. Every byte of it is checked: digests, signature, and
// each content by its keyed address.
func (r *Repository) Read(ctx context.Context, id string, identities ...age.Identity) (*snapshot.Snapshot, error) {
	b, err := r.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	k, err := r.unlock(b, identities)
	if err != nil {
		return nil, err
	}
	t, err := r.table(ctx, b, k)
	if err != nil {
		return nil, err
	}
	contents, err := r.contents(ctx, b, t, k, identities)
	if err != nil {
		return nil, err
	}
	s, err := assemble(b, t, contents)
	if err != nil {
		return nil, err
	}
	if err := unseal(s, b.Recipients, identities); err != nil {
		return nil, fmt.Errorf("reading backup %s: %w", b.ID, err)
	}
	return s, nil
}

// unlock decrypts the key of a backup's writer.
func (r *Repository) unlock(b Backup, identities []age.Identity) (keys, error) {
	if len(identities) == 0 {
		return keys{}, errors.New("reading a backup: no identity is given")
	}
	plain, err := decrypt(b.Key, b.Recipients, identities)
	if err != nil {
		return keys{}, fmt.Errorf("reading backup %s: %w", b.ID, err)
	}
	if len(plain) != KeySize || Key(plain).Signer() != b.Signer {
		return keys{}, r.damaged(backupFolder+b.ID, errors.New("it is forged: its key is not the one that signed it"))
	}
	return Key(plain).derive(), nil
}

// part reads an object of a backup and checks its digest.
func (r *Repository) part(ctx context.Context, folder string, p Part) ([]byte, error) {
	content, err := r.get(ctx, folder+p.SHA256, p.Size)
	if errors.Is(err, target.ErrAbsent) {
		return nil, r.damaged(folder+p.SHA256, err)
	}
	if err != nil {
		return nil, err
	}
	if int64(len(content)) != p.Size {
		return nil, r.damaged(folder+p.SHA256, fmt.Errorf("it has %d bytes instead of %d", len(content), p.Size))
	}
	if digest(content) != p.SHA256 {
		return nil, r.damaged(folder+p.SHA256, errors.New("it is damaged or forged: the digest is not of this content"))
	}
	return content, nil
}

// table reads a backup's table.
func (r *Repository) table(ctx context.Context, b Backup, k keys) (table, error) {
	sealed, err := r.part(ctx, tableFolder, b.Table)
	if err != nil {
		return table{}, err
	}
	t, err := decodeTable(k, sealed)
	if err != nil {
		return t, r.damaged(tableFolder+b.Table.SHA256, err)
	}
	return t, nil
}

// contents reads the packs of a backup and returns its chunks.
func (r *Repository) contents(ctx context.Context, b Backup, t table, k keys, identities []age.Identity) (map[address][]byte, error) {
	wanted := make([][]piece, len(t.Packs))
	for _, references := range t.Sections {
		for _, one := range references {
			wanted[one.Pack] = append(wanted[one.Pack], one.piece)
		}
	}
	found := make([]map[address][]byte, len(t.Packs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelPacks)
	for i, name := range t.Packs {
		group.Go(func() (err error) {
			at := slices.IndexFunc(b.Packs, func(p Part) bool { return p.SHA256 == name })
			if at < 0 {
				return r.damaged(tableFolder+b.Table.SHA256, errors.New("it names a pack that the backup does not"))
			}
			if found[i], err = r.unpack(ctx, b.Packs[at], wanted[i], k, b.Recipients, identities); err != nil {
				return fmt.Errorf("reading backup %s: %w", b.ID, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := map[address][]byte{}
	for _, part := range found {
		for id, content := range part {
			all[id] = content
		}
	}
	return all, nil
}

// unpack decrypts the wanted chunks of a pack and checks each.
func (r *Repository) unpack(ctx context.Context, p Part, wanted []piece, k keys, to []string, identities []age.Identity) (map[address][]byte, error) {
	whole, err := r.part(ctx, packFolder, p)
	if err != nil {
		return nil, err
	}
	_, body, err := split(whole)
	if err != nil {
		return nil, r.damaged(packFolder+p.SHA256, err)
	}
	plain, err := decrypt(body, to, identities)
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", p.SHA256, err)
	}
	found := make(map[address][]byte, len(wanted))
	for _, one := range wanted {
		if one.Offset > len(plain) || one.Length > len(plain)-one.Offset {
			return nil, r.damaged(packFolder+p.SHA256, errors.New("a chunk is not in the pack"))
		}
		content, err := expand(plain[one.Offset:one.Offset+one.Length], maxChunk)
		if err != nil {
			return nil, r.damaged(packFolder+p.SHA256, err)
		}
		if k.name(content) != one.ID {
			return nil, r.damaged(packFolder+p.SHA256, errors.New("a chunk is not what was stored"))
		}
		found[one.ID] = content
	}
	return found, nil
}

// assemble makes the snapshot of the chunks.
func assemble(b Backup, t table, contents map[address][]byte) (*snapshot.Snapshot, error) {
	s := &snapshot.Snapshot{}
	for _, one := range t.Sections[sectionHead] {
		if err := json.Unmarshal(contents[one.ID], s); err != nil {
			return nil, fmt.Errorf("reading backup %s: %w", b.ID, err)
		}
	}
	for _, one := range t.Sections[sectionFile] {
		s.File = append(s.File, contents[one.ID]...)
	}
	for _, one := range t.Sections[sectionState] {
		s.State = append(s.State, contents[one.ID]...)
	}
	for _, one := range t.Sections[sectionEtcd] {
		s.Etcd = append(s.Etcd, contents[one.ID]...)
	}
	for _, one := range t.Sections[sectionDatastore] {
		s.Datastore = append(s.Datastore, contents[one.ID]...)
	}
	for _, one := range t.Sections[sectionControllers] {
		s.Applied = append(s.Applied, contents[one.ID]...)
	}
	for _, one := range t.Sections[sectionCloud] {
		if err := json.Unmarshal(contents[one.ID], &s.Cloud); err != nil {
			return nil, fmt.Errorf("reading backup %s: %w", b.ID, err)
		}
	}
	for _, one := range t.Sections[sectionObjects] {
		for line := range bytes.Lines(contents[one.ID]) {
			o := &unstructured.Unstructured{}
			if err := o.UnmarshalJSON(line); err != nil {
				return nil, fmt.Errorf("reading an object of backup %s: %w", b.ID, err)
			}
			s.Objects = append(s.Objects, o)
		}
	}
	if len(s.Objects) != b.Objects {
		return nil, fmt.Errorf("reading backup %s: %d objects instead of %d", b.ID, len(s.Objects), b.Objects)
	}
	slices.SortFunc(s.Objects, func(x, y *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(x.GroupVersionKind().Group, y.GroupVersionKind().Group), cmp.Compare(x.GetKind(), y.GetKind()),
			cmp.Compare(x.GetNamespace(), y.GetNamespace()), cmp.Compare(x.GetName(), y.GetName()))
	})
	return s, nil
}
