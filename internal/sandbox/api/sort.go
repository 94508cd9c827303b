package api

import (
	"iter"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

type sortKey struct {
	index []int
	desc  bool
}

// sorted yields the items in the order of the keys; equal items keep their order. Each item is
// boxed and reflected on once, not at every comparison: a list of thousands would spend all its
// time on that.
func sorted[T any](items iter.Seq[T], keys []sortKey) iter.Seq[T] {
	type row struct {
		item   any
		values []reflect.Value
	}
	var rows []row
	for item := range items {
		r := row{item, make([]reflect.Value, len(keys))}
		for i, key := range keys {
			r.values[i] = reflect.ValueOf(r.item).FieldByIndex(key.index)
		}
		rows = append(rows, r)
	}
	order := func(a, b row) int {
		for i, key := range keys {
			order := compare(a.values[i], b.values[i])
			if key.desc {
				order = -order
			}
			if order != 0 {
				return order
			}
		}
		return 0
	}
	// The latest first, as Nova lists, is the order of the store from its end.
	if backwards(rows, order) {
		slices.Reverse(rows)
	} else {
		slices.SortStableFunc(rows, order)
	}
	return func(yield func(T) bool) {
		for _, r := range rows {
			if !yield(r.item.(T)) {
				return
			}
		}
	}
}

// backwards reports whether each row belongs before the row that precedes it.
func backwards[R any](rows []R, order func(a, b R) int) bool {
	for i := 1; i < len(rows); i++ {
		if order(rows[i], rows[i-1]) >= 0 {
			return false
		}
	}
	return true
}

// sortKeys reads what the query asks for: sort=key:dir,… or sort_key with
// sort_dir, several times; the defaults if it asks for nothing.
func sortKeys(t reflect.Type, query url.Values, defaults []string) ([]sortKey, error) {
	asked := defaults
	if sort := query.Get("sort"); sort != "" {
		asked = strings.Split(sort, ",")
	} else if names := query["sort_key"]; len(names) > 0 {
		asked = nil
		for i, name := range names {
			if dirs := query["sort_dir"]; i < len(dirs) {
				name += ":" + dirs[i]
			}
			asked = append(asked, name)
		}
	}
	known := attributes(t)
	var keys []sortKey
	for _, text := range asked {
		name, dir, _ := strings.Cut(text, ":")
		index, ok := known[name]
		if !ok {
			return nil, BadRequest("Sort key supplied is invalid: %s", name)
		}
		if dir != "" && dir != "asc" && dir != "desc" {
			return nil, BadRequest("Unknown sort direction, must be 'asc' or 'desc': %s", dir)
		}
		keys = append(keys, sortKey{index, dir == "desc"})
	}
	return keys, nil
}
