package query

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// Selector is which attributes of a document are shown.
type Selector struct {
	keep, drop [][]string
	all        bool
}

// ParseSelector reads all_fields, fields, exclude_fields and exclude_default; by default,
// the attributes in excluded are left out.
func ParseSelector(values url.Values, excluded ...string) (Selector, error) {
	all, fields, exclude, byDefault := values.Has("all_fields"), values.Has("fields"), values.Has("exclude_fields"), values.Has("exclude_default")
	s := Selector{all: all}
	switch {
	case all && (fields || exclude || byDefault):
		return s, errors.New("all_fields excludes the other selectors")
	case fields && exclude:
		return s, errors.New("fields and exclude_fields exclude each other")
	case exclude && byDefault:
		return s, errors.New("exclude_fields and exclude_default exclude each other")
	case all:
		return s, nil
	case exclude:
		excluded = strings.Split(values.Get("exclude_fields"), ",")
	}
	var err error
	if fields {
		if s.keep, err = paths(strings.Split(values.Get("fields"), ",")); err != nil {
			return s, err
		}
	}
	s.drop, err = paths(excluded)
	return s, err
}

func paths(names []string) (all [][]string, err error) {
	for _, name := range names {
		path, err := parsePath(name)
		if err != nil {
			return nil, err
		}
		all = append(all, path)
	}
	return all, nil
}

// Apply removes what is not shown. What is named by fields is shown though it is left out
// by default; mandatory attributes always are.
func (s Selector) Apply(document map[string]any, mandatory ...string) {
	for _, path := range s.drop {
		if len(path) == 1 && slices.Contains(mandatory, path[0]) {
			continue
		}
		if !slices.ContainsFunc(s.keep, func(kept []string) bool { return begins(kept, path) || begins(path, kept) }) {
			remove(document, path)
		}
	}
	for _, path := range s.drop { // fields below what is left out: only those remain
		var below [][]string
		for _, kept := range s.keep {
			if len(kept) > len(path) && begins(kept, path) {
				below = append(below, kept[len(path):])
			}
		}
		if len(below) > 0 && !slices.ContainsFunc(s.keep, func(kept []string) bool { return begins(path, kept) }) {
			only(at(document, path), below)
		}
	}
}

func begins(path, with []string) bool {
	return len(path) >= len(with) && slices.Equal(path[:len(with)], with)
}

func remove(value any, path []string) {
	each(value, func(members map[string]any) {
		if len(path) == 1 {
			delete(members, path[0])
		} else {
			remove(members[path[0]], path[1:])
		}
	})
}

// only removes everything but what is at paths.
func only(value any, keep [][]string) {
	each(value, func(members map[string]any) {
		for name, member := range members {
			var below [][]string
			whole := false
			for _, path := range keep {
				if path[0] == name {
					whole = whole || len(path) == 1
					below = append(below, path[1:])
				}
			}
			switch {
			case len(below) == 0:
				delete(members, name)
			case !whole:
				only(member, below)
			}
		}
	})
}

func at(value any, path []string) any {
	for _, name := range path {
		members, _ := value.(map[string]any)
		value = members[name]
	}
	return value
}

// each calls do for an object, or for every one of a list.
func each(value any, do func(map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		do(v)
	case []any:
		for _, element := range v {
			each(element, do)
		}
	}
}
