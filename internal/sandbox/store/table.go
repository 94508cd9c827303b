package store

import (
	"iter"
	"reflect"
)

// Table is the records of one kind, by id. T is a plain struct that encodes
// to JSON and back without loss.
type Table[T any] struct{ core *core }

// NewTable adds a table to the store and loads its records from the file. The
// name is the table's name in the file ("compute.servers"). Tables and
// indexes are made before the store is used.
func NewTable[T any](s *Store, name string, id func(T) string) *Table[T] {
	return &Table[T]{newCore(s, name, reflect.TypeFor[T](), func(v any) string { return id(v.(T)) })}
}

// Get returns the record with the id.
func (t *Table[T]) Get(_ Reader, id string) (T, bool) {
	if r, ok := t.core.rows[id]; ok {
		return r.value.(T), true
	}
	var none T
	return none, false
}

// Len returns the number of records.
func (t *Table[T]) Len(Reader) int { return len(t.core.rows) }

// All yields the records in the order in which they were created. The table
// may be changed meanwhile; what is yielded is as it was at the call.
func (t *Table[T]) All(Reader) iter.Seq[T] { return typed[T](t.core.all.each("")) }

// Put adds the record or replaces the one with its id. The table keeps a copy
// of its own.
func (t *Table[T]) Put(tx *Tx, value T) { t.core.put(tx, value) }

// Change edits a copy of the record with the id and puts it; it returns false
// when there is none. The copy is deep: edit may change slices and maps.
func (t *Table[T]) Change(tx *Tx, id string, edit func(*T)) bool {
	return t.core.change(tx, id, func(v any) any {
		copied := v.(T)
		edit(&copied)
		return copied
	})
}

// Delete removes the record with the id; it returns false when there is none.
func (t *Table[T]) Delete(tx *Tx, id string) bool { return t.core.delete(tx, id) }

// Subscribe returns a feed that begins with every record there is, so that a
// reader that starts sees what happened before. A deleted record is told by
// its id. It must not be called inside View or Update.
func (t *Table[T]) Subscribe() *Feed { return t.core.subscribe() }

func typed[T any](rows []*row) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, r := range rows {
			if !yield(r.value.(T)) {
				return
			}
		}
	}
}
