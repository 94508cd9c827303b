package store

import (
	"iter"

	"github.com/google/btree"
)

// Index finds the records of a table by a value that is derived from them, in
// the order in which they were created.
type Index[T any] struct{ tree *tree }

// Index adds an index by one value of the record, such as its project.
func (t *Table[T]) Index(of func(T) string) *Index[T] {
	return &Index[T]{t.core.index(func(v any) []string { return []string{of(v.(T))} })}
}

// IndexEach adds an index by several values of the record, such as the
// security groups of a port.
func (t *Table[T]) IndexEach(of func(T) []string) *Index[T] {
	return &Index[T]{t.core.index(func(v any) []string { return of(v.(T)) })}
}

// Each yields the records with the value. The table may be changed meanwhile;
// what is yielded is as it was at the call.
func (i *Index[T]) Each(_ Reader, value string) iter.Seq[T] { return typed[T](i.tree.each(value)) }

// First returns the oldest record with the value.
func (i *Index[T]) First(_ Reader, value string) (T, bool) {
	if r := i.tree.first(value); r != nil {
		return r.value.(T), true
	}
	var none T
	return none, false
}

// Count returns how many records have the value.
func (i *Index[T]) Count(_ Reader, value string) int { return len(i.tree.each(value)) }

// tree is an index without its type.
type tree struct {
	of   func(any) []string
	rows *btree.BTreeG[entry]
}

type entry struct {
	value string
	seq   uint64
	row   *row
}

func (c *core) index(of func(any) []string) *tree {
	t := &tree{of: of, rows: btree.NewG(32, before)}
	for _, r := range c.rows {
		t.add(r)
	}
	c.indexes = append(c.indexes, t)
	return t
}

func before(a, b entry) bool {
	if a.value != b.value {
		return a.value < b.value
	}
	return a.seq < b.seq
}

func (t *tree) each(value string) []*row {
	rows := make([]*row, 0, 8)
	t.rows.AscendGreaterOrEqual(entry{value: value}, func(e entry) bool {
		if e.value != value {
			return false
		}
		rows = append(rows, e.row)
		return true
	})
	return rows
}

func (t *tree) first(value string) (found *row) {
	t.rows.AscendGreaterOrEqual(entry{value: value}, func(e entry) bool {
		if e.value == value {
			found = e.row
		}
		return false
	})
	return found
}

func (t *tree) add(r *row) {
	for _, value := range t.of(r.value) {
		t.rows.ReplaceOrInsert(entry{value, r.seq, r})
	}
}

func (t *tree) remove(r *row) {
	for _, value := range t.of(r.value) {
		t.rows.Delete(entry{value, r.seq, r})
	}
}
