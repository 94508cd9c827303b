package template

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slipway-sh/slipway/addons/addonprovider/values"
)

type filter func(of any, g given) (any, error)

// filterOf is the filter of a name, or nil.
func filterOf(name string) filter {
	switch name {
	case "mergeconcat":
		return mergeConcat
	case "fromyaml":
		return ofText(func(s string, _ given) (any, error) { return values.Parse(s) })
	case "toyaml":
		return func(of any, _ given) (any, error) { return values.Emit(of) }
	case "b64encode":
		return ofText(func(s string, _ given) (any, error) { return base64.StdEncoding.EncodeToString([]byte(s)), nil })
	case "b64decode":
		return ofText(decode)
	case "default", "d":
		return defaultTo
	case "indent":
		return ofText(indent)
	case "tojson":
		return func(of any, _ given) (any, error) { return toJSON(of) }
	case "string":
		return func(of any, _ given) (any, error) { return toText(of), nil }
	case "int":
		return toInteger
	case "float":
		return toFloat
	}
	if f := listFilter(name); f != nil {
		return f
	}
	return textFilter(name)
}

// textFilter returns a filter of strings that works like one of their methods.
func textFilter(name string) filter {
	switch name {
	case "lower", "upper", "title", "replace":
		return func(of any, g given) (any, error) { return textMethod(toText(of), name, g) }
	case "trim":
		return func(of any, g given) (any, error) { return strip(toText(of), "strip", g) }
	case "capitalize":
		return func(of any, _ given) (any, error) {
			s := strings.ToLower(toText(of))
			_, size := utf8.DecodeRuneInString(s)
			return strings.ToUpper(s[:size]) + s[size:], nil
		}
	}
	return nil
}

func listFilter(name string) filter {
	switch name {
	case "join":
		return func(of any, g given) (any, error) {
			separator, err := g.text(0, "d", "")
			if err != nil {
				return nil, err
			}
			return join(of, separator)
		}
	case "length", "count":
		return func(of any, _ given) (any, error) {
			if s, ok := of.(string); ok {
				return int64(utf8.RuneCountInString(s)), nil
			}
			items, err := iterate(of)
			return int64(len(items)), err
		}
	case "list":
		return func(of any, _ given) (any, error) { return iterate(of) }
	case "first", "last":
		return edge(name)
	case "items":
		return ofMap(func(m *values.Map) (any, error) { return mapMethod(m, "items", given{}) })
	case "dictsort":
		return ofMap(dictSort)
	case "sort":
		return sorted
	case "unique":
		return unique
	case "map":
		return mapped
	}
	return nil
}

func ofText(f func(string, given) (any, error)) filter {
	return func(of any, g given) (any, error) {
		s, ok := of.(string)
		if !ok {
			return nil, fmt.Errorf("needs a string, not %s", typeName(of))
		}
		return f(s, g)
	}
}

func ofMap(f func(*values.Map) (any, error)) filter {
	return func(of any, _ given) (any, error) {
		m, ok := of.(*values.Map)
		if !ok {
			return nil, fmt.Errorf("needs a map, not %s", typeName(of))
		}
		return f(m)
	}
}

func decode(s string, _ given) (any, error) {
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		return nil, errors.New("not base64")
	}
	if !utf8.Valid(data) {
		return nil, errors.New("the content is not text")
	}
	return string(data), nil
}

func mergeConcat(of any, g given) (any, error) {
	for _, override := range g.positional {
		of = values.Merge(of, override)
		if size(of, maxItems) < 0 {
			return nil, errors.New("the result is too large")
		}
	}
	return of, nil
}

// size returns what is left of a budget after counting the items of a value; below zero means that
// the budget was too small.
func size(value any, left int) int {
	left--
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			if left < 0 {
				break
			}
			left = size(item, left)
		}
	case *values.Map:
		for _, key := range v.Keys() {
			if left < 0 {
				break
			}
			item, _ := v.Get(key)
			left = size(item, left)
		}
	}
	return left
}

func defaultTo(of any, g given) (any, error) {
	_, missing := of.(undefined)
	if missing || truth(g.get(1, "boolean", false)) && !truth(of) {
		return g.get(0, "default_value", ""), nil
	}
	return of, nil
}

func indent(s string, g given) (any, error) {
	width := g.get(0, "width", int64(4))
	prefix, ok := width.(string)
	if n, number := width.(int64); number && n <= 1000 {
		prefix, ok = strings.Repeat(" ", int(max(0, n))), true
	}
	if !ok {
		return nil, errors.New("the width needs to be a number up to 1000")
	}
	blank := truth(g.get(2, "blank", false))
	parts := lines(s + "\n")
	if len(s)+len(parts)*len(prefix) > maxSize {
		return nil, errors.New("a string is too large")
	}
	for i := range parts {
		if i > 0 && (blank || parts[i] != "") {
			parts[i] = prefix + parts[i]
		}
	}
	result := strings.Join(parts, "\n")
	if truth(g.get(1, "first", false)) {
		result = prefix + result
	}
	return result, nil
}

func toInteger(of any, g given) (any, error) {
	absent := g.get(0, "default", int64(0))
	switch v := of.(type) {
	case bool, int64, float64:
		f, _ := toNumber(v)
		return int64(f), nil
	case string:
		if n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64); err == nil {
			return n, nil
		}
		if f, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil {
			return int64(f), nil
		}
	}
	return absent, nil
}

func toFloat(of any, g given) (any, error) {
	if f, ok := toNumber(of); ok {
		return f, nil
	}
	if f, err := strconv.ParseFloat(strings.TrimSpace(toText(of)), 64); err == nil {
		return f, nil
	}
	return g.get(0, "default", 0.0), nil
}

func edge(name string) filter {
	return func(of any, _ given) (any, error) {
		items, err := iterate(of)
		switch {
		case err != nil:
			return nil, err
		case len(items) == 0:
			return undefined{"the " + name + " of nothing"}, nil
		case name == "last":
			return items[len(items)-1], nil
		}
		return items[0], nil
	}
}

func dictSort(m *values.Map) (any, error) {
	items := []any{}
	keys := slices.SortedFunc(slices.Values(m.Keys()), func(a, b string) int {
		return strings.Compare(strings.ToLower(a), strings.ToLower(b))
	})
	for _, key := range keys {
		value, _ := m.Get(key)
		items = append(items, []any{key, value})
	}
	return items, nil
}
