package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/event"
	"github.com/slipway-sh/slipway/internal/fault"
)

// Finding is one thing that Verify found wrong.
type Finding struct {
	// Item is the item's name, or a file of the folder that belongs to none.
	Item    string `json:"item"`
	Problem string `json:"problem"`
	Remedy  string `json:"remedy"`
}

// Fault is the finding as an error.
func (n Finding) Fault() error { return fault.New(n.Item, errors.New(n.Problem), n.Remedy) }

// Verify reads every byte of the named items (all when none is named) and
// compares digests, sizes, links and the image index with the bill. It returns
// the findings sorted by item. The error is about the verification itself: an
// unknown item, or a cancelled context.
func (f *Folder) Verify(ctx context.Context, sink event.Sink, names ...string) ([]Finding, error) {
	bill := f.Bill()
	items, err := bill.Select(names)
	if err != nil {
		return nil, err
	}
	found := make([][]Finding, len(items))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for i, item := range items {
		group.Go(func() error {
			step := event.Start(sink, item.Name, "verifying")
			problems := f.verifyItem(ctx, item)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			for _, p := range problems {
				found[i] = append(found[i], Finding{item.Name, p, fmt.Sprintf("build it again with slipway bundle build --dir %s --only %s", f.dir, item.Name)})
			}
			if len(problems) > 0 {
				step.End("", errors.New(problems[0]))
			} else {
				step.End("", nil)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	findings := slices.Concat(found...)
	if len(names) == 0 {
		findings = append(findings, f.verifyFolder(bill)...)
	}
	return findings, nil
}

// Select returns the named items, or all when no name is given. Each unknown
// name is an error.
func (b *Bill) Select(names []string) ([]Item, error) {
	if len(names) == 0 {
		return b.Items, nil
	}
	var items []Item
	var unknown []error
	for _, name := range names {
		if item := b.Item(name); item != nil {
			items = append(items, *item)
		} else {
			unknown = append(unknown, fault.Usage("item "+name, errors.New("not in the bundle"), "see `slipway bundle inspect` for the names"))
		}
	}
	return items, errors.Join(unknown...)
}

func (f *Folder) verifyItem(ctx context.Context, item Item) []string {
	if item.Kind == Image {
		// A damaged manifest must not be parsed: its own digest comes first.
		if problem := f.verifyBlob(ctx, item.SHA256, -1); problem != "" {
			return []string{problem}
		}
	}
	blobs, err := f.blobs(item)
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	for _, blob := range blobs {
		if problem := f.verifyBlob(ctx, blob.SHA256, blob.Size); problem != "" {
			problems = append(problems, problem)
		}
	}
	if item.Path != "" && len(problems) == 0 {
		target, err := filepath.EvalSymlinks(filepath.Join(f.dir, item.Path))
		if blob, _ := filepath.EvalSymlinks(f.Blob(item.SHA256)); err != nil || target != blob {
			problems = append(problems, fmt.Sprintf("%s does not lead to its blob", item.Path))
		}
	}
	return problems
}

// verifyBlob returns what is wrong with a blob, or "". Size -1 is not compared.
func (f *Folder) verifyBlob(ctx context.Context, sha string, size int64) string {
	name := filepath.Join(blobDir, sha)
	file, err := os.Open(f.Blob(sha))
	if errors.Is(err, fs.ErrNotExist) {
		return name + " is missing"
	}
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, contextReader{ctx, file})
	if err != nil {
		return fmt.Sprintf("reading %s: %v", name, err)
	}
	if size >= 0 && n != size {
		return fmt.Sprintf("%s has %d bytes, not %d", name, n, size)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sha {
		return fmt.Sprintf("%s has changed: its content is sha256:%s", name, got)
	}
	return ""
}

// verifyFolder checks what belongs to no single item.
func (f *Folder) verifyFolder(bill *Bill) []Finding {
	var findings []Finding
	want, err := f.index(bill.Items)
	got, readErr := os.ReadFile(filepath.Join(f.dir, indexFile))
	if err != nil || readErr != nil || string(got) != string(want) {
		findings = append(findings, Finding{indexFile, "does not list the images of the bill", "build it again with slipway bundle build --dir " + f.dir})
	}
	known := f.referenced(bill)
	entries, err := os.ReadDir(filepath.Join(f.dir, blobDir))
	if err != nil {
		return append(findings, Finding{blobDir, err.Error(), "build the bundle again"})
	}
	for _, entry := range entries {
		if !known[entry.Name()] {
			findings = append(findings, Finding{filepath.Join(blobDir, entry.Name()), "belongs to no item", "delete it: it is not part of the bundle"})
		}
	}
	return findings
}

func (f *Folder) referenced(bill *Bill) map[string]bool {
	known := map[string]bool{}
	for _, item := range bill.Items {
		known[item.SHA256] = true
		blobs, err := f.blobs(item)
		if err != nil {
			continue // Verify reports the item
		}
		for _, blob := range blobs {
			known[blob.SHA256] = true
		}
	}
	return known
}

// Clean removes blobs and named links that no item of the bill refers to, and
// returns how many bytes that freed. Items that stand for others must be
// recorded first.
func (f *Folder) Clean() (freed int64, err error) {
	bill := f.Bill()
	known := f.referenced(bill)
	entries, err := os.ReadDir(filepath.Join(f.dir, blobDir))
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		if known[entry.Name()] {
			continue
		}
		if info, err := entry.Info(); err == nil {
			freed += info.Size()
		}
		if err := os.Remove(f.Blob(entry.Name())); err != nil {
			return freed, err
		}
	}
	return freed, f.cleanLinks()
}

// cleanLinks removes links to blobs that are gone, such as those of an item that
// was renamed. What is not the bundle's stays: the folder may be a file system of
// its own, with a lost+found, or have other things in it.
func (f *Folder) cleanLinks() error {
	blobs := filepath.Join(f.dir, blobDir)
	return filepath.WalkDir(f.dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) && path != f.dir {
			return fs.SkipDir
		}
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == WorkDir {
			return filepath.SkipDir
		}
		if entry.Type()&fs.ModeSymlink == 0 {
			return nil
		}
		target, err := os.Readlink(path)
		if err != nil || filepath.Dir(filepath.Join(filepath.Dir(path), target)) != blobs {
			return nil //nolint:nilerr // somebody else's link, or gone
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return os.Remove(path)
		}
		return nil
	})
}

// Complete reports whether every blob of an item is there with its size. It
// does not read them; Verify does.
func (f *Folder) Complete(item Item) bool {
	blobs, err := f.blobs(item)
	if err != nil {
		return false
	}
	for _, blob := range blobs {
		if !f.Has(blob) {
			return false
		}
	}
	return true
}

// RemoveDamaged reads an item's blobs and removes those whose content is not
// what their name says, so that they can be stored again.
func (f *Folder) RemoveDamaged(ctx context.Context, item Item) error {
	blobs, err := f.blobs(item)
	if err != nil {
		blobs = []Digest{{item.SHA256, -1}}
	}
	for _, blob := range blobs {
		if f.verifyBlob(ctx, blob.SHA256, blob.Size) == "" || ctx.Err() != nil {
			continue
		}
		if err := os.Remove(f.Blob(blob.SHA256)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
