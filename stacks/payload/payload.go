// Package payload is what a seed gets that was not made with the bundle's image: the same
// files, programs and container images, from the bundle over SSH.
package payload

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/source"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// k3sItem is the name of k3s in the bill.
const k3sItem = "k3s"

// Payload is the payload that a bundle has.
type Payload struct {
	folder *bundle.Folder
	bill   *bundle.Bill
	parts  source.Payload
}

// Of returns the payload of a bundle. Items that are missing are one fault each; tools
// that nothing needs are left out.
func Of(folder *bundle.Folder) (Payload, error) {
	if folder == nil {
		return Payload{}, fault.New("seed's machine", errors.New("there is no bundle to bring k3s from"), "name the folder of one in spec.bundle")
	}
	parts, err := source.SeedPayload()
	if err != nil {
		return Payload{}, fmt.Errorf("reading the seed's files: %w", err)
	}
	p := Payload{folder, folder.Bill(), parts}
	maps.DeleteFunc(p.parts.Programs, func(_, item string) bool {
		return slices.Contains(parts.Tools(), item) && p.bill.Item(item) == nil
	})
	var missing []error
	items := p.parts.Items()
	if p.BringsIptables() {
		items = append(items, proxyItem)
	}
	for _, name := range items {
		if p.bill.Item(name) == nil {
			missing = append(missing, fault.New("bundle "+folder.Dir(), fmt.Errorf("it contains no %s", name), "complete it with slipway bundle ensure --dir "+folder.Dir()))
		}
	}
	return p, errors.Join(missing...)
}

// ID changes when anything in the payload does. It reads no more than the bill.
func (p Payload) ID() string {
	hash := sha256.New()
	for _, text := range p.parts.Texts {
		fmt.Fprintf(hash, "text %s %o %x\n", text.Path, text.Mode, sha256.Sum256([]byte(text.Content)))
	}
	for _, path := range slices.Sorted(maps.Keys(p.parts.Programs)) {
		fmt.Fprintf(hash, "program %s %s\n", path, p.bill.Item(p.parts.Programs[path]).SHA256)
	}
	for _, path := range slices.Sorted(maps.Keys(p.parts.Archives)) {
		for _, name := range p.parts.Archives[path] {
			fmt.Fprintf(hash, "image %s %s\n", path, p.bill.Item(name).SHA256)
		}
	}
	if p.BringsIptables() {
		fmt.Fprintf(hash, "iptables %s %x\n", p.bill.Item(proxyItem).SHA256, sha256.Sum256([]byte(wrapper+pathUnit)))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// BringsIptables tells whether iptables is brought, for machines that have none: the k3s
// that its project publishes carries its own, that which the bundle builds does not.
func (p Payload) BringsIptables() bool {
	k3s := p.bill.Item(k3sItem)
	return k3s != nil && k3s.Recipe != ""
}

// Files are the small files, with the digest by which k3s' unit knows its program, and
// the mark of a machine to which they were brought.
func (p Payload) Files() []seed.File {
	files := []seed.File{
		{Path: seed.BroughtMark, Mode: "0644", Content: "k3s was brought to this machine by slipway up.\n"},
	}
	for _, text := range p.parts.Texts {
		files = append(files, seed.File{Path: text.Path, Mode: fmt.Sprintf("%04o", text.Mode), Content: text.Content, Restarts: true})
	}
	if p.BringsIptables() {
		files = append(files, iptablesFiles()...)
	}
	return files
}

// Uploads are iptables, the programs and the archives of images, the largest last.
// Archives are made twice, once for their digest: they are in no file here.
func (p Payload) Uploads(ctx context.Context) ([]remote.Upload, error) {
	var all []remote.Upload
	if p.BringsIptables() {
		upload, err := p.archive(IptablesArchive, func(w io.Writer) error { return writeIptables(p.folder, *p.bill.Item(proxyItem), w) })
		if err != nil {
			return nil, err
		}
		all = append(all, upload)
	}
	for _, path := range slices.Sorted(maps.Keys(p.parts.Programs)) {
		item := p.bill.Item(p.parts.Programs[path])
		all = append(all, remote.Upload{Path: path, Mode: "0755", Size: item.Size, SHA256: item.SHA256, From: p.fileFrom(*item)})
	}
	for _, path := range slices.Sorted(maps.Keys(p.parts.Archives)) {
		var items []bundle.Item
		for _, name := range p.parts.Archives[path] {
			items = append(items, *p.bill.Item(name))
		}
		upload, err := p.archive(path, func(w io.Writer) error { return p.folder.WriteImageArchive(ctx, w, items) })
		if err != nil {
			return nil, err
		}
		all = append(all, upload)
	}
	return all, nil
}

func (p Payload) fileFrom(item bundle.Item) func(context.Context, int64) (io.ReadCloser, error) {
	return func(_ context.Context, offset int64) (io.ReadCloser, error) {
		file, err := os.Open(p.folder.Blob(item.SHA256))
		if err != nil {
			return nil, err
		}
		if _, err := file.Seek(offset, io.SeekStart); err != nil {
			file.Close()
			return nil, err
		}
		return file, nil
	}
}

func (p Payload) archive(path string, write func(io.Writer) error) (remote.Upload, error) {
	sum := &summer{hash: sha256.New()}
	if err := write(sum); err != nil {
		return remote.Upload{}, fault.New("bundle "+p.folder.Dir(), fmt.Errorf("reading images: %w", err), "check it with slipway bundle verify")
	}
	return remote.Upload{Path: path, Mode: "0644", Size: sum.size, SHA256: hex.EncodeToString(sum.hash.Sum(nil)),
		From: func(_ context.Context, offset int64) (io.ReadCloser, error) { return streamFrom(write, offset) }}, nil
}
