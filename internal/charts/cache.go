package charts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// cache keeps archives in a folder: files <key>-<sha256>.tgz, the least recently
// used removed first when they are more than size bytes together.
type cache struct {
	dir  string
	size int64
}

func cacheKey(reference Reference) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{canonicalRepository(reference.Repository), reference.Name,
		canonicalVersion(reference.Version)}, "\n")))
	return hex.EncodeToString(sum[:16])
}

// get returns an archive that is what its name says; a broken one is removed.
func (c cache) get(key, digest string) ([]byte, bool) {
	pattern := key + "-*.tgz"
	if digest != "" {
		pattern = key + "-" + strings.TrimPrefix(digest, digestPrefix) + ".tgz"
	}
	paths, err := filepath.Glob(filepath.Join(c.dir, pattern))
	if err != nil {
		return nil, false
	}
	for _, path := range paths {
		want := digestPrefix + strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), key+"-"), ".tgz")
		archive, err := readVerified(path, want)
		if err != nil {
			os.Remove(path) //nolint:errcheck // fetched again
			continue
		}
		now := time.Now()
		os.Chtimes(path, now, now) //nolint:errcheck // only the order of removal suffers
		return archive, true
	}
	return nil, false
}

// put stores an archive; the file appears whole or not at all.
func (c cache) put(key string, archive []byte) error {
	path := filepath.Join(c.dir, key+"-"+strings.TrimPrefix(Digest(archive), digestPrefix)+".tgz")
	file, err := os.CreateTemp(c.dir, ".new-*")
	if err != nil {
		return fmt.Errorf("caching chart: %w", err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // renamed by then
	_, err = file.Write(archive)
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("caching chart: %w", err)
	}
	return c.shrink(path)
}

// shrink removes the least recently used archives but one.
func (c cache) shrink(keep string) error {
	paths, err := filepath.Glob(filepath.Join(c.dir, "*.tgz"))
	if err != nil {
		return fmt.Errorf("listing cache of charts: %w", err)
	}
	type item struct {
		path string
		info fs.FileInfo
	}
	var items []item
	var total int64
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		total += info.Size()
		if path != keep {
			items = append(items, item{path, info})
		}
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.info.ModTime().UnixNano(), b.info.ModTime().UnixNano()) })
	for _, item := range items {
		if total <= c.size {
			return nil
		}
		if err := os.Remove(item.path); err != nil {
			return fmt.Errorf("shrinking cache of charts: %w", err)
		}
		total -= item.info.Size()
	}
	return nil
}
