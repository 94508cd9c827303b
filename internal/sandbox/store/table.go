package store

import (
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
)

// Table is the records of one kind, by id. T is a plain struct that encodes
// to JSON and back without loss.
type Table[T any] struct {
	store   *Store
	bucket  string
	id      func(T) string
	rows    map[string]*row[T]
	all     *Index[T]
	indexes []*Index[T]
	feeds   map[*Feed]struct{}
	named   bool
}

// row is a record; it is replaced, never changed.
type row[T any] struct {
	seq   uint64
	value T
}

// NewTable adds a table to the store and loads its records from the file. The
// name is the table's name in the file ("compute.servers"). Tables and
// indexes are made before the store is used.
func NewTable[T any](s *Store, name string, id func(T) string) *Table[T] {
	t := &Table[T]{store: s, bucket: name, id: id, rows: map[string]*row[T]{}, feeds: map[*Feed]struct{}{}}
	field, ok := reflect.TypeFor[T]().FieldByName("Name")
	t.named = ok && field.Type.Kind() == reflect.String
	t.all = t.Index(func(T) string { return "" })
	err := s.load(name, func(id string, seq uint64, value []byte) error {
		r := &row[T]{seq: seq}
		if err := json.Unmarshal(value, &r.value); err != nil {
			return fmt.Errorf("record %s: %w", id, err)
		}
		t.replace(id, r)
		return nil
	})
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("loading %s: %w", name, err)
	}
	s.tables = append(s.tables, t)
	return t
}

// Get returns the record with the id.
func (t *Table[T]) Get(_ Reader, id string) (T, bool) {
	if r, ok := t.rows[id]; ok {
		return r.value, true
	}
	var none T
	return none, false
}

// Len returns the number of records.
func (t *Table[T]) Len(Reader) int { return len(t.rows) }

// All yields the records in the order in which they were created. The table
// may be changed meanwhile; what is yielded is as it was at the call.
func (t *Table[T]) All(r Reader) iter.Seq[T] { return t.all.Each(r, "") }

// Put adds the record or replaces the one with its id. The table keeps a copy
// of its own, taken through JSON, so that what is read is always what would
// come back from the file.
func (t *Table[T]) Put(tx *Tx, value T) {
	id := t.id(value)
	encoded, err := json.Marshal(value)
	if err != nil {
		tx.fail(fmt.Errorf("encoding %s %s: %w", t.bucket, id, err))
		return
	}
	r := &row[T]{}
	if err := json.Unmarshal(encoded, &r.value); err != nil {
		tx.fail(fmt.Errorf("encoding %s %s: %w", t.bucket, id, err))
		return
	}
	if old := t.rows[id]; old != nil {
		r.seq = old.seq
	} else {
		t.store.seq++
		r.seq = t.store.seq
	}
	t.write(tx, id, r, encoded)
}

// Change edits a copy of the record with the id and puts it; it returns false
// when there is none. The copy is deep: edit may change slices and maps.
func (t *Table[T]) Change(tx *Tx, id string, edit func(*T)) bool {
	old, ok := t.rows[id]
	if !ok {
		return false
	}
	var copied T
	encoded, err := json.Marshal(old.value)
	if err == nil {
		err = json.Unmarshal(encoded, &copied)
	}
	if err != nil {
		tx.fail(fmt.Errorf("copying %s %s: %w", t.bucket, id, err))
		return true
	}
	edit(&copied)
	if now := t.id(copied); now != id {
		tx.fail(fmt.Errorf("changing %s %s: its id became %s", t.bucket, id, now))
		return true
	}
	t.Put(tx, copied)
	return true
}

// Delete removes the record with the id; it returns false when there is none.
func (t *Table[T]) Delete(tx *Tx, id string) bool {
	if _, ok := t.rows[id]; !ok {
		return false
	}
	t.write(tx, id, nil, nil)
	return true
}

func (t *Table[T]) write(tx *Tx, id string, r *row[T], encoded []byte) {
	w := write{table: t.bucket, id: id, value: encoded}
	if r != nil {
		w.seq = r.seq
	}
	old := t.replace(id, r)
	tx.writes = append(tx.writes, w)
	tx.undo = append(tx.undo, func() { t.replace(id, old) })
	if len(t.feeds) > 0 {
		tx.notify = append(tx.notify, func() { t.publish(id) })
	}
}

// replace swaps the row of an id, in the indexes too, and returns the old one;
// nil means no row.
func (t *Table[T]) replace(id string, r *row[T]) *row[T] {
	old := t.rows[id]
	for _, index := range t.indexes {
		if old != nil {
			index.remove(old)
		}
		if r != nil {
			index.add(r)
		}
	}
	if r == nil {
		delete(t.rows, id)
	} else {
		t.rows[id] = r
	}
	return old
}

func (t *Table[T]) name(id string) (string, bool) {
	r, ok := t.rows[id]
	if !ok || !t.named {
		return "", false
	}
	return reflect.ValueOf(r.value).FieldByName("Name").String(), true
}
