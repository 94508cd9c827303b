package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/slipway-sh/slipway/addons/addonprovider/values"
)

func sorted(of any, g given) (any, error) {
	items, err := iterate(of)
	if err != nil {
		return nil, err
	}
	keys := make([]any, len(items))
	for i, value := range items {
		if keys[i], err = sortKey(value, g); err != nil {
			return nil, err
		}
	}
	places := make([]int, len(items))
	for i := range places {
		places[i] = i
	}
	reverse := truth(g.get(0, "reverse", false))
	slices.SortStableFunc(places, func(a, b int) int {
		o, e := order(keys[a], keys[b])
		err = errors.Join(err, e)
		if reverse {
			return -o
		}
		return o
	})
	result := make([]any, len(items))
	for i, place := range places {
		result[i] = items[place]
	}
	return result, err
}

func sortKey(value any, g given) (any, error) {
	if path := g.get(2, "attribute", nil); path != nil {
		var err error
		if value, err = walk(value, toText(path)); err != nil {
			return nil, err
		}
	}
	if s, ok := value.(string); ok && !truth(g.get(1, "case_sensitive", false)) {
		return strings.ToLower(s), nil
	}
	return value, nil
}

// walk follows a path of names with dots.
func walk(value any, path string) (any, error) {
	var err error
	for part := range strings.SplitSeq(path, ".") {
		if value, err = item(value, part); err != nil {
			return nil, err
		}
	}
	return value, nil
}

func unique(of any, _ given) (any, error) {
	items, err := iterate(of)
	result := []any{}
	for _, value := range items {
		if found, _ := contains(result, value); !found {
			result = append(result, value)
		}
	}
	return result, err
}

// mapped is the filter map: it takes an attribute of each item, or applies another filter to it.
func mapped(of any, g given) (any, error) {
	items, err := iterate(of)
	if err != nil {
		return nil, err
	}
	result := make([]any, len(items))
	for i, value := range items {
		if path, ok := g.named["attribute"]; ok {
			result[i], err = walk(value, toText(path))
		} else {
			result[i], err = another(value, g)
		}
		if err != nil {
			return nil, err
		}
	}
	return result, nil
}

func another(value any, g given) (any, error) {
	name, err := g.text(0, "filter", "")
	if err != nil {
		return nil, err
	}
	f := filterOf(name)
	if f == nil || name == "map" {
		return nil, fmt.Errorf("there is no filter %q here", name)
	}
	return f(value, given{positional: g.positional[1:], named: g.named})
}

// toJSON is the filter tojson: Python's spacing, sorted keys, ASCII, and no
// characters that mean something in HTML.
func toJSON(value any) (string, error) {
	var b strings.Builder
	err := writeJSON(&b, value)
	return strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "'", `\u0027`).Replace(b.String()), err
}

func writeJSON(b *strings.Builder, value any) error {
	switch v := value.(type) {
	case []any:
		b.WriteString("[")
		for i, value := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			if err := writeJSON(b, value); err != nil {
				return err
			}
		}
		b.WriteString("]")
	case *values.Map:
		b.WriteString("{")
		for i, key := range slices.Sorted(slices.Values(v.Keys())) {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(jsonText(key) + ": ")
			value, _ := v.Get(key)
			if err := writeJSON(b, value); err != nil {
				return err
			}
		}
		b.WriteString("}")
	case string:
		b.WriteString(jsonText(v))
	case float64:
		b.WriteString(values.Float(v))
	default:
		data, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("%s has no JSON", typeName(value))
		}
		b.Write(data)
	}
	return nil
}

func jsonText(s string) string {
	var b strings.Builder
	b.WriteString(`"`)
	for _, ch := range s {
		switch {
		case ch == '"' || ch == '\\':
			b.WriteString(`\` + string(ch))
		case ch == '\n':
			b.WriteString(`\n`)
		case ch == '\t':
			b.WriteString(`\t`)
		case ch == '\r':
			b.WriteString(`\r`)
		case ch < ' ' || ch > '~':
			for _, unit := range utf16.Encode([]rune{ch}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		default:
			b.WriteRune(ch)
		}
	}
	return b.String() + `"`
}

func testable(name string) bool {
	return slices.Contains([]string{"defined", "undefined", "none", "string", "number", "boolean", "mapping", "iterable", "sequence", "true", "false"}, name)
}

func test(name string, value any) bool {
	_, missing := value.(undefined)
	_, isText := value.(string)
	_, isList := value.([]any)
	_, isMap := value.(*values.Map)
	_, isBool := value.(bool)
	_, isNumber := toNumber(value)
	switch name {
	case "defined":
		return !missing
	case "undefined":
		return missing
	case "none":
		return value == nil
	case "string":
		return isText
	case "number":
		return isNumber
	case "boolean":
		return isBool
	case "mapping":
		return isMap
	case "true", "false":
		return isBool && value.(bool) == (name == "true")
	}
	return isText || isList || isMap || missing
}
