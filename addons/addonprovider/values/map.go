// Package values reads, merges and writes the YAML of values and templates as PyYAML does, because
// the charts of clusters were written for it: YAML 1.1 scalars, keys in order, the same text for
// the same value.
//
// A value is nil, bool, int64, float64, string, []any or *Map.
package values

import (
	"slices"
	"strconv"
)

// Map is a mapping that remembers the order of its keys.
type Map struct {
	keys   []string
	values map[string]any
}

// NewMap returns an empty map.
func NewMap() *Map { return &Map{values: map[string]any{}} }

// Keys returns the keys in the order in which they were first set. The caller must not change the
// slice.
func (m *Map) Keys() []string { return m.keys }

// Len returns the number of keys.
func (m *Map) Len() int { return len(m.keys) }

// Get returns the value of a key, and whether the key exists.
func (m *Map) Get(key string) (any, bool) {
	value, ok := m.values[key]
	return value, ok
}

// Set sets the value of a key.
func (m *Map) Set(key string, value any) {
	if _, ok := m.values[key]; !ok {
		m.keys = append(m.keys, key)
	}
	m.values[key] = value
}

// Of turns what JSON decoders return into values; the keys of maps are sorted, as an API server
// sends them.
func Of(value any) any {
	switch v := value.(type) {
	case map[string]any:
		m := &Map{values: make(map[string]any, len(v))}
		for key, item := range v {
			m.keys = append(m.keys, key)
			m.values[key] = Of(item)
		}
		slices.Sort(m.keys)
		return m
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = Of(item)
		}
		return list
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case float32:
		return float64(v)
	}
	return value
}

// Plain is the inverse of Of: maps become map[string]any.
func Plain(value any) any {
	switch v := value.(type) {
	case *Map:
		m := make(map[string]any, len(v.keys))
		for key, item := range v.values {
			m[key] = Plain(item)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = Plain(item)
		}
		return list
	}
	return value
}

// Merge puts override over base without changing either: maps are merged key by key, lists are
// joined, null changes nothing, and anything else replaces the former value.
func Merge(base, override any) any {
	if override == nil {
		return base
	}
	switch b := base.(type) {
	case *Map:
		if o, ok := override.(*Map); ok {
			return mergeMaps(b, o)
		}
	case []any:
		if o, ok := override.([]any); ok {
			return slices.Concat(b, o)
		}
	}
	return override
}

func mergeMaps(base, override *Map) *Map {
	merged := NewMap()
	for _, key := range base.keys {
		merged.Set(key, base.values[key])
	}
	for _, key := range override.keys {
		merged.Set(key, Merge(merged.values[key], override.values[key]))
	}
	return merged
}

// keyText is the text of a scalar that is a key: JSON allows only text as keys.
func keyText(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}
