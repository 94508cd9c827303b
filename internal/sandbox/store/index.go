package store

import (
	"iter"

	"github.com/google/btree"
)

// Index finds the records of a table by a value that is derived from them, in
// the order in which they were created.
type Index[T any] struct {
	of   func(T) []string
	tree *btree.BTreeG[entry[T]]
}

type entry[T any] struct {
	value string
	seq   uint64
	row   *row[T]
}

// Index adds an index by one value of the record, such as its project.
func (t *Table[T]) Index(of func(T) string) *Index[T] {
	return t.IndexEach(func(v T) []string { return []string{of(v)} })
}

// IndexEach adds an index by several values of the record, such as the
// security groups of a port.
func (t *Table[T]) IndexEach(of func(T) []string) *Index[T] {
	index := &Index[T]{of: of, tree: btree.NewG(32, before[T])}
	for _, r := range t.rows {
		index.add(r)
	}
	t.indexes = append(t.indexes, index)
	return index
}

func before[T any](a, b entry[T]) bool {
	if a.value != b.value {
		return a.value < b.value
	}
	return a.seq < b.seq
}

// Each yields the records with the value. The table may be changed meanwhile;
// what is yielded is as it was at the call.
func (i *Index[T]) Each(_ Reader, value string) iter.Seq[T] {
	rows := make([]*row[T], 0, 8)
	i.tree.AscendGreaterOrEqual(entry[T]{value: value}, func(e entry[T]) bool {
		if e.value != value {
			return false
		}
		rows = append(rows, e.row)
		return true
	})
	return func(yield func(T) bool) {
		for _, r := range rows {
			if !yield(r.value) {
				return
			}
		}
	}
}

// First returns the oldest record with the value.
func (i *Index[T]) First(r Reader, value string) (T, bool) {
	for v := range i.Each(r, value) {
		return v, true
	}
	var none T
	return none, false
}

// Count returns how many records have the value.
func (i *Index[T]) Count(_ Reader, value string) int {
	n := 0
	i.tree.AscendGreaterOrEqual(entry[T]{value: value}, func(e entry[T]) bool {
		if e.value != value {
			return false
		}
		n++
		return true
	})
	return n
}

func (i *Index[T]) add(r *row[T]) {
	for _, value := range i.of(r.value) {
		i.tree.ReplaceOrInsert(entry[T]{value, r.seq, r})
	}
}

func (i *Index[T]) remove(r *row[T]) {
	for _, value := range i.of(r.value) {
		i.tree.Delete(entry[T]{value, r.seq, r})
	}
}
