package values

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Emit returns the text that PyYAML's safe_dump makes of a value: keys sorted, lists not indented,
// lines broken at 80 columns.
func Emit(value any) (string, error) {
	var b strings.Builder
	e := emitter{out: &b}
	switch v := value.(type) {
	case *Map:
		if v.Len() == 0 {
			return "{}\n", nil
		}
		return finish(&b, e.mapping(v, 0))
	case []any:
		if len(v) == 0 {
			return "[]\n", nil
		}
		return finish(&b, e.sequence(v, 0))
	}
	text, plain, err := e.scalar(value, 0, 0, false)
	if err != nil {
		return "", err
	}
	if plain { // a document that is one open plain scalar gets an end
		return text + "\n...\n", nil
	}
	return text + "\n", nil
}

func finish(b *strings.Builder, err error) (string, error) { return b.String(), err }

type emitter struct{ out *strings.Builder }

func (e *emitter) mapping(m *Map, indent int) error {
	keys := slices.Sorted(slices.Values(m.keys))
	for i, key := range keys {
		if i > 0 || e.out.Len() > 0 && !e.afterDash() {
			e.pad(indent)
		}
		text, _, err := e.scalar(key, 0, indent, true)
		if err != nil {
			return err
		}
		if len(key) > 128 || strings.Contains(key, "\n") {
			return fmt.Errorf("writing YAML: key %.20q… is too long or has several lines", key)
		}
		e.out.WriteString(text + ":")
		if err := e.inMapping(m.values[key], indent, len(text)+1+indent); err != nil {
			return err
		}
	}
	return nil
}

func (e *emitter) afterDash() bool { return strings.HasSuffix(e.out.String(), "- ") }

func (e *emitter) pad(indent int) { e.out.WriteString(strings.Repeat(" ", indent)) }

func (e *emitter) inMapping(value any, indent, column int) error {
	switch v := value.(type) {
	case *Map:
		if v.Len() == 0 {
			e.out.WriteString(" {}\n")
			return nil
		}
		e.out.WriteString("\n")
		return e.mapping(v, indent+2)
	case []any:
		if len(v) == 0 {
			e.out.WriteString(" []\n")
			return nil
		}
		e.out.WriteString("\n")
		return e.sequence(v, indent)
	}
	text, _, err := e.scalar(value, column+1, indent+2, false)
	e.out.WriteString(" " + text + "\n")
	return err
}

func (e *emitter) sequence(list []any, indent int) error {
	for i, item := range list {
		if i > 0 || !e.afterDash() {
			e.pad(indent)
		}
		switch v := item.(type) {
		case *Map:
			if v.Len() > 0 {
				e.out.WriteString("- ")
				if err := e.mapping(v, indent+2); err != nil {
					return err
				}
				continue
			}
			e.out.WriteString("- {}\n")
		case []any:
			if len(v) > 0 {
				e.out.WriteString("- ")
				if err := e.sequence(v, indent+2); err != nil {
					return err
				}
				continue
			}
			e.out.WriteString("- []\n")
		default:
			text, _, err := e.scalar(item, indent+2, indent+2, false)
			if err != nil {
				return err
			}
			e.out.WriteString("- " + text + "\n")
		}
	}
	return nil
}

// scalar returns the text of a scalar that begins at a column and continues at an indentation, and
// whether it is plain.
func (e *emitter) scalar(value any, column, indent int, key bool) (string, bool, error) {
	switch v := value.(type) {
	case nil:
		return "null", true, nil
	case bool:
		return strconv.FormatBool(v), true, nil
	case int64:
		return strconv.FormatInt(v, 10), true, nil
	case float64:
		return floatText(v), true, nil
	case string:
		text, plain := styled(v, column, indent, key)
		return text, plain, nil
	}
	return "", false, fmt.Errorf("writing YAML: a %T is not a value", value)
}

// floatText always writes a point, so that the text is read as a float again.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return ".nan"
	case math.IsInf(f, 1):
		return ".inf"
	case math.IsInf(f, -1):
		return "-.inf"
	}
	text := Float(f)
	if mantissa, exponent, ok := strings.Cut(text, "e"); ok && !strings.Contains(mantissa, ".") {
		return mantissa + ".0e" + exponent
	}
	return text
}

// Float is the text of a float as Python writes it.
func Float(f float64) string {
	if f == 0 || math.Abs(f) >= 1e-4 && math.Abs(f) < 1e16 {
		text := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		return text
	}
	return strconv.FormatFloat(f, 'e', -1, 64)
}
