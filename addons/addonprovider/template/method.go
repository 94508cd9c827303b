package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/slipway-sh/slipway/addons/addonprovider/values"
)

// hasMethod reports whether a value has a method of that name, which wins over a key of that name
// after a dot, as in Jinja2.
func hasMethod(value any, name string) bool {
	switch value.(type) {
	case *values.Map:
		return slices.Contains([]string{"items", "keys", "values", "get"}, name)
	case string:
		return slices.Contains([]string{"strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "startswith", "endswith",
			"split", "splitlines", "join", "replace", "lower", "upper", "title", "encode", "decode", "isdigit"}, name)
	}
	return false
}

func callMethod(of any, name string, g given) (any, error) {
	switch v := of.(type) {
	case nil:
		return rangeOf(g)
	case *values.Map:
		return mapMethod(v, name, g)
	case string:
		return textMethod(v, name, g)
	}
	return nil, errors.New("no such method")
}

func mapMethod(m *values.Map, name string, g given) (any, error) {
	switch name {
	case "get":
		if value, ok := m.Get(toText(g.get(0, "key", ""))); ok {
			return value, nil
		}
		return g.get(1, "default", nil), nil
	case "keys":
		return keysOf(m), nil
	}
	items := make([]any, 0, m.Len())
	for _, key := range m.Keys() {
		value, _ := m.Get(key)
		if name == "items" {
			value = []any{key, value}
		}
		items = append(items, value)
	}
	return items, nil
}

func textMethod(s, name string, g given) (any, error) {
	switch name {
	case "lower":
		return strings.ToLower(s), nil
	case "upper":
		return strings.ToUpper(s), nil
	case "title":
		return title(s), nil
	case "encode", "decode": // bytes and strings are one here
		return s, nil
	case "isdigit":
		return s != "" && strings.Trim(s, "0123456789") == "", nil
	case "splitlines":
		return texts(lines(s)), nil
	case "split":
		return split(s, g)
	case "join":
		return join(g.get(0, "iterable", nil), s)
	case "replace":
		return replace(s, g)
	case "strip", "lstrip", "rstrip":
		return strip(s, name, g)
	}
	argument, err := g.text(0, "argument", "")
	if err != nil {
		return nil, err
	}
	switch name {
	case "removeprefix":
		return strings.TrimPrefix(s, argument), nil
	case "removesuffix":
		return strings.TrimSuffix(s, argument), nil
	case "startswith":
		return strings.HasPrefix(s, argument), nil
	}
	return strings.HasSuffix(s, argument), nil
}

func strip(s, name string, g given) (any, error) {
	cut := unicode.IsSpace
	if given := g.get(0, "chars", nil); given != nil {
		characters, ok := given.(string)
		if !ok {
			return nil, errors.New("characters need a string")
		}
		cut = func(ch rune) bool { return strings.ContainsRune(characters, ch) }
	}
	if name != "rstrip" {
		s = strings.TrimLeftFunc(s, cut)
	}
	if name != "lstrip" {
		s = strings.TrimRightFunc(s, cut)
	}
	return s, nil
}

func split(s string, g given) (any, error) {
	separator := g.get(0, "sep", nil)
	limit, ok := g.get(1, "maxsplit", int64(-1)).(int64)
	if !ok {
		return nil, errors.New("maxsplit needs a number")
	}
	if separator == nil {
		return texts(strings.Fields(s)), nil
	}
	text, ok := separator.(string)
	if !ok || text == "" {
		return nil, errors.New("the separator needs to be a string that is not empty")
	}
	if limit >= 0 {
		limit++
	}
	return texts(strings.SplitN(s, text, int(limit))), nil
}

func replace(s string, g given) (any, error) {
	old, err := g.text(0, "old", "")
	if err != nil {
		return nil, err
	}
	with, err := g.text(1, "new", "")
	if err != nil {
		return nil, err
	}
	count, ok := g.get(2, "count", int64(-1)).(int64)
	if !ok {
		count = -1
	}
	if len(s)+strings.Count(s, old)*len(with) > maxSize {
		return nil, errors.New("a string is too large")
	}
	return strings.Replace(s, old, with, int(count)), nil
}

func join(value any, separator string) (any, error) {
	items, err := iterate(value)
	if err != nil {
		return nil, err
	}
	parts, size := make([]string, len(items)), 0
	for i, item := range items {
		parts[i] = toText(item)
		size += len(parts[i]) + len(separator)
	}
	if size > maxSize {
		return nil, errors.New("a string is too large")
	}
	return strings.Join(parts, separator), nil
}

// lines is Python's splitlines.
func lines(s string) []string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var parts []string
	for s != "" {
		end := strings.IndexAny(s, "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029")
		if end < 0 {
			return append(parts, s)
		}
		parts = append(parts, s[:end])
		_, size := firstRune(s[end:])
		s = s[end+size:]
	}
	return parts
}

func firstRune(s string) (rune, int) {
	for i, ch := range s {
		if i > 0 {
			return ch, i
		}
	}
	return 0, len(s)
}

func texts(parts []string) []any {
	items := make([]any, len(parts))
	for i, part := range parts {
		items[i] = part
	}
	return items
}

func title(s string) string {
	previous := ' '
	return strings.Map(func(ch rune) rune {
		letter := unicode.IsLetter(previous)
		previous = ch
		if letter {
			return unicode.ToLower(ch)
		}
		return unicode.ToUpper(ch)
	}, s)
}

func rangeOf(g given) (any, error) {
	bounds := make([]int64, len(g.positional))
	for i, value := range g.positional {
		n, ok := value.(int64)
		if !ok {
			return nil, errors.New("needs numbers")
		}
		bounds[i] = n
	}
	from, to, by := int64(0), int64(0), int64(1)
	switch len(bounds) {
	case 1:
		to = bounds[0]
	case 2:
		from, to = bounds[0], bounds[1]
	case 3:
		from, to, by = bounds[0], bounds[1], bounds[2]
	default:
		return nil, fmt.Errorf("needs one to three numbers")
	}
	if by == 0 {
		return nil, errors.New("the step is zero")
	}
	var items []any
	for i := from; by > 0 && i < to || by < 0 && i > to; i += by {
		if len(items) == maxItems {
			return nil, errors.New("the range is too long")
		}
		items = append(items, i)
	}
	return items, nil
}
