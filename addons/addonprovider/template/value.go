package template

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/addons/addonprovider/values"
)

// truth reports whether a value counts as true in Python.
func truth(value any) bool {
	switch v := value.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case *values.Map:
		return v.Len() > 0
	}
	return true
}

// toText is Python's str.
func toText(value any) string {
	switch v := value.(type) {
	case undefined:
		return ""
	case string:
		return v
	}
	return represent(value)
}

// represent is Python's repr.
func represent(value any) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case undefined:
		return "Undefined"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		switch {
		case math.IsNaN(v):
			return "nan"
		case math.IsInf(v, 0):
			return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(v, 'f', -1, 64)), "+")
		}
		return values.Float(v)
	case string:
		return representText(v)
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = represent(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *values.Map:
		parts := make([]string, 0, v.Len())
		for _, key := range v.Keys() {
			item, _ := v.Get(key)
			parts = append(parts, representText(key)+": "+represent(item))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprintf("<%s>", typeName(value))
}

func representText(text string) string {
	quote := "'"
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		quote = `"`
	}
	var b strings.Builder
	b.WriteString(quote)
	for _, ch := range text {
		switch {
		case string(ch) == quote || ch == '\\':
			b.WriteString(`\` + string(ch))
		case ch == '\n':
			b.WriteString(`\n`)
		case ch == '\t':
			b.WriteString(`\t`)
		case ch == '\r':
			b.WriteString(`\r`)
		case ch < ' ' || ch == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, ch)
		default:
			b.WriteRune(ch)
		}
	}
	return b.String() + quote
}

func typeName(value any) string {
	switch v := value.(type) {
	case nil:
		return "none"
	case undefined:
		return v.name
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "a list"
	case *values.Map:
		return "a map"
	}
	return "a method"
}

// iterate returns the items that a loop over a value visits.
func iterate(value any) ([]any, error) {
	switch v := value.(type) {
	case undefined:
		return nil, nil
	case []any:
		return v, nil
	case *values.Map:
		return keysOf(v), nil
	case string:
		if len(v) > maxItems {
			return nil, fmt.Errorf("a string is too long to loop over")
		}
		items := make([]any, 0, len(v))
		for _, ch := range v {
			items = append(items, string(ch))
		}
		return items, nil
	}
	return nil, fmt.Errorf("%s cannot be looped over", typeName(value))
}

func keysOf(m *values.Map) []any {
	keys := make([]any, m.Len())
	for i, key := range m.Keys() {
		keys[i] = key
	}
	return keys
}

// toNumber returns a number as a float; booleans are 0 and 1 as in Python.
func toNumber(value any) (float64, bool) {
	switch v := value.(type) {
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func equal(a, b any) bool {
	if x, ok := toNumber(a); ok {
		y, ok := toNumber(b)
		return ok && x == y
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case undefined:
		_, ok := b.(undefined)
		return ok
	case string:
		y, ok := b.(string)
		return ok && x == y
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case *values.Map:
		y, ok := b.(*values.Map)
		return ok && equalMaps(x, y)
	}
	return false
}

func equalMaps(a, b *values.Map) bool {
	if a.Len() != b.Len() {
		return false
	}
	for _, key := range a.Keys() {
		x, _ := a.Get(key)
		y, ok := b.Get(key)
		if !ok || !equal(x, y) {
			return false
		}
	}
	return true
}
