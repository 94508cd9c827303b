// Package store holds the sandbox's model of a cloud: typed tables in memory
// with secondary indexes, atomic transactions, a feed of changes, and a file
// from which all of it comes back after the process was stopped or killed.
package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/bbolt"
)

// ErrLocked says that another process has the state file open.
var ErrLocked = errors.New("state file is in use by another process")

// Store is a set of tables under one read-write lock. Reads never touch the
// file; every transaction that writes is one transaction of the file too.
type Store struct {
	mu     sync.RWMutex
	db     *bbolt.DB // nil: nothing is kept
	tables []*core
	seq    uint64
	err    error
}

// Open opens the state file at path and creates it, mode 0600, when there is
// none. An empty path gives a store that lives in memory only. Tables are
// added with NewTable; Ready reports what went wrong while loading them.
func Open(path string) (*Store, error) {
	s := &Store{}
	if path == "" {
		return s, nil
	}
	// Nothing is synced to disk per transaction: what must be survived is the
	// death of the process, not of the host, and written pages outlive it.
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout: 100 * time.Millisecond, NoSync: true, NoGrowSync: true,
		NoFreelistSync: true, FreelistType: bbolt.FreelistMapType,
	})
	switch {
	case errors.Is(err, bbolt.ErrTimeout):
		return nil, fmt.Errorf("opening %s: %w", path, ErrLocked)
	case err != nil:
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	s.db = db
	return s, nil
}

// Ready returns the first error of loading the tables.
func (s *Store) Ready() error { return s.err }

// Close syncs the file to disk and closes it.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil
	}
	return errors.Join(s.db.Sync(), s.db.Close())
}

// View calls fn with the right to read every table; what it reads is one
// consistent state. Records are immutable, so they may be kept after fn
// returned, and must not be changed in place.
func (s *Store) View(fn func(r Reader) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return fn(view{})
}

// Update calls fn with the right to read and write every table. All that fn
// wrote takes effect together, or nothing does when fn returns an error or
// panics, or the state file cannot be written.
func (s *Store) Update(fn func(tx *Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	tx := &Tx{store: s}
	committed := false
	defer func() {
		if !committed {
			tx.rollback()
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	if err := s.write(tx); err != nil {
		return fmt.Errorf("writing state: %w", err)
	}
	committed = true
	tx.publish()
	return nil
}

// NameOf returns the field Name of the record with the id, whatever table it
// is in.
func (s *Store) NameOf(r Reader, id string) (string, bool) {
	for _, t := range s.tables {
		if name, ok := t.name(id); ok {
			return name, true
		}
	}
	return "", false
}

// write puts the transaction's writes in the file. The sequence number before
// each value restores the order in which records were created.
func (s *Store) write(tx *Tx) error {
	if tx.err != nil || s.db == nil || len(tx.writes) == 0 {
		return tx.err
	}
	return s.db.Update(func(file *bbolt.Tx) error {
		for _, w := range tx.writes {
			bucket := file.Bucket([]byte(w.table))
			if w.value == nil {
				if err := bucket.Delete([]byte(w.id)); err != nil {
					return err
				}
				continue
			}
			value := binary.BigEndian.AppendUint64(make([]byte, 0, len(w.value)+8), w.seq)
			if err := bucket.Put([]byte(w.id), append(value, w.value...)); err != nil {
				return err
			}
		}
		return nil
	})
}

// load calls add for every record of a table in the file, and makes the
// bucket when there is none.
func (s *Store) load(name string, add func(id string, seq uint64, value []byte) error) error {
	if s.db == nil {
		return nil
	}
	return s.db.Update(func(file *bbolt.Tx) error {
		bucket, err := file.CreateBucketIfNotExists([]byte(name))
		if err != nil {
			return err
		}
		return bucket.ForEach(func(key, value []byte) error {
			seq := binary.BigEndian.Uint64(value)
			s.seq = max(s.seq, seq)
			return add(string(key), seq, value[8:])
		})
	})
}
