package source

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
)

// output is what a recipe hands over: a file in the job's folder, or an image.
type output struct {
	file       string
	image      v1.Image
	source     string
	packages   []string
	properties map[string]string
	// contains are the inputs that are inside; those that are items are recorded.
	contains []string
}

// cacheEntry describes an intermediate result beside its file.
type cacheEntry struct {
	Size     int64    `json:"size"`
	Packages []string `json:"packages,omitempty"`
	// Properties and Contains are as an item has them.
	Properties map[string]string `json:"properties,omitempty"`
	Contains   map[string]string `json:"contains,omitempty"`
}

// keep moves a result into the bundle, or into the cache when it is only an
// input of others.
func (b *builder) keep(ctx context.Context, name string, out output) (product, error) {
	component, isItem := component.Find(name)
	if !isItem {
		return b.cache(name, out)
	}
	item := bundle.Item{
		Name: name, Kind: component.Kind, Version: component.Version, License: component.License,
		Source: out.source, Path: component.Path, Ref: component.Ref, Recipe: b.keys[name],
		Properties: out.properties, Packages: out.packages, Contains: b.digests(out.contains),
	}
	var digest bundle.Digest
	var err error
	if out.image != nil {
		digest, err = b.folder.PutImage(ctx, out.image)
	} else {
		digest, err = b.folder.PutFile(ctx, out.file)
	}
	if err != nil {
		return product{}, err
	}
	item.SHA256, item.Size = digest.SHA256, digest.Size
	if err := b.folder.Record(item); err != nil {
		return product{}, err
	}
	return product{file: b.folder.Blob(item.SHA256), packages: out.packages, properties: out.properties, contains: item.Contains, item: item}, nil
}

// cache keeps an intermediate result under its key. The description is written
// last: without it the entry does not count.
func (b *builder) cache(name string, out output) (product, error) {
	info, err := os.Stat(out.file)
	if err != nil {
		return product{}, err
	}
	dir := b.work("cache", b.keys[name])
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return product{}, err
	}
	file := filepath.Join(dir, name)
	if err := os.Rename(out.file, file); err != nil {
		return product{}, err
	}
	entry := cacheEntry{Size: info.Size(), Packages: out.packages, Properties: out.properties, Contains: b.digests(out.contains)}
	text, err := json.Marshal(entry)
	if err != nil {
		return product{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, "entry.json"), text, 0o644); err != nil {
		return product{}, fmt.Errorf("describing %s: %w", name, err)
	}
	return entry.product(file), nil
}

func (e cacheEntry) product(file string) product {
	return product{file: file, packages: e.Packages, properties: e.Properties, contains: e.Contains}
}

func (b *builder) cached(name string) (product, bool) {
	dir := b.work("cache", b.keys[name])
	text, err := os.ReadFile(filepath.Join(dir, "entry.json"))
	if err != nil {
		return product{}, false
	}
	var entry cacheEntry
	if json.Unmarshal(text, &entry) != nil {
		return product{}, false
	}
	file := filepath.Join(dir, name)
	info, err := os.Stat(file)
	if err != nil || info.Size() != entry.Size {
		return product{}, false
	}
	return entry.product(file), b.current(entry.Contains)
}

// current tells whether all parts are those that the bundle has now.
func (b *builder) current(parts map[string]string) bool {
	bill := b.folder.Bill()
	for part, digest := range parts {
		if now := bill.Item(part); now == nil || now.SHA256 != digest {
			return false // a part was forced, or its key hid a change
		}
	}
	return true
}

// cleanCache removes intermediate results of recipes as they were before.
func (b *builder) cleanCache() error {
	current := map[string]bool{}
	for _, key := range b.keys {
		current[key] = true
	}
	entries, err := os.ReadDir(b.work("cache"))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !current[entry.Name()] {
			if err := os.RemoveAll(b.work("cache", entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// discardCache removes all intermediate results.
func (b *builder) discardCache() error {
	if err := os.RemoveAll(b.work("cache")); err != nil {
		return fmt.Errorf("discarding the cache: %w", err)
	}
	return nil
}

// digests maps the names of items to the digests that they have now; other
// names are left out.
func (b *builder) digests(names []string) map[string]string {
	bill := b.folder.Bill()
	digests := map[string]string{}
	for _, name := range names {
		if item := bill.Item(name); item != nil {
			digests[name] = item.SHA256
		}
	}
	return digests
}
