// Package imagestore keeps the image files that machines lie upon for as long as
// machines need them, also when the image service has deleted them.
package imagestore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/slipway-sh/slipway/internal/sandbox/blockdev"
)

// Store keeps images in a folder.
type Store struct {
	dir string
	mu  sync.Mutex
}

// New returns the store of a folder, which is made with the first image.
func New(dir string) *Store { return &Store{dir: dir} }

// Dir is the folder.
func (s *Store) Dir() string { return s.dir }

// key names an image file by what it was when it was seen.
func key(path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("looking at image: %w", err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%d", path, st.Size(), st.ModTime().UnixNano()))
	return hex.EncodeToString(sum[:10]), nil
}

// Keep makes sure that the image stays, and returns its name in the store: it is a
// link where that can be, else a copy. An image that is not raw is unpacked once.
func (s *Store) Keep(ctx context.Context, path string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, err := key(path)
	if err != nil {
		return "", err
	}
	file := s.File(name)
	if _, err := os.Stat(file); err == nil {
		return name, nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return "", fmt.Errorf("keeping image: %w", err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("keeping image: %w", err)
	}
	plain, err := blockdev.IsRaw(real)
	if err != nil {
		return "", err
	}
	if plain && os.Link(real, file) == nil {
		return name, nil
	}
	part := file + partSuffix
	_ = os.Remove(part)
	if err := blockdev.Unpack(ctx, real, part); err != nil {
		return "", err
	}
	return name, os.Rename(part, file)
}

// An image that is being unpacked has both.
const (
	suffix     = ".raw"
	partSuffix = ".part"
)

// File is where the bytes of a kept image are, as a raw disk.
func (s *Store) File(name string) string { return filepath.Join(s.dir, name+suffix) }

// Drop removes the images that keep does not name, and what a process left that was
// killed while it unpacked one.
func (s *Store) Drop(keep map[string]bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		name, isImage := strings.CutSuffix(strings.TrimSuffix(e.Name(), partSuffix), suffix)
		if isImage && !e.IsDir() && (!keep[name] || strings.HasSuffix(e.Name(), partSuffix)) {
			err = errors.Join(err, os.Remove(filepath.Join(s.dir, e.Name())))
		}
	}
	return err
}
