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

// sorted returns the items in the order of the keys; equal ones keep theirs.
func sorted[T any](items iter.Seq[T], keys []sortKey) []T {
	return slices.SortedStableFunc(items, func(a, b T) int {
		for _, key := range keys {
			order := compare(reflect.ValueOf(a).FieldByIndex(key.index), reflect.ValueOf(b).FieldByIndex(key.index))
			if key.desc {
				order = -order
			}
			if order != 0 {
				return order
			}
		}
		return 0
	})
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
