package backup

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// The files that a backup can have beside the objects.
const (
	FileEtcd      = "etcd"
	FileDatastore = "datastore"
	// FileControllers is what slipway up applied on the management cluster (package undo).
	FileControllers = "controllers"
)

// pageChunk is the length of the chunks of a file, in bytes. The pages of databases stay
// in their places, so those that did not change are stored once.
const pageChunk = 64 << 10

// AddFile adds a file that is read to its end, and returns its size in bytes. If the
// reading fails the backup has none of it: others of its parts may be worth having.
func (w *Writer) AddFile(name string, from io.Reader) (int64, error) {
	if !slices.Contains([]string{FileEtcd, FileDatastore, FileControllers}, name) {
		return 0, fmt.Errorf("adding %s: a backup has no such file", name)
	}
	w.dropFile(name)
	page := make([]byte, pageChunk)
	for size := int64(0); ; {
		n, err := io.ReadFull(from, page)
		if n > 0 {
			if err := w.store(name, page[:n]); err != nil {
				return 0, fmt.Errorf("storing %s: %w", name, err)
			}
			size += int64(n)
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			w.files[name] = size
			return size, nil
		case err != nil:
			w.dropFile(name)
			return 0, fmt.Errorf("reading %s: %w", name, err)
		}
	}
}

// dropFile takes a file out of the backup. What is stored of it stays until it is pruned.
func (w *Writer) dropFile(name string) {
	delete(w.sections, name)
	delete(w.files, name)
}
