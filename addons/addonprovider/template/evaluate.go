package template

import (
	"fmt"

	"github.com/slipway-sh/slipway/addons/addonprovider/values"
)

// undefined is a name that has no value: it is empty as text and as a list, false as a condition,
// and an error anywhere else.
type undefined struct{ name string }

func (u undefined) err() error { return fmt.Errorf("%s is undefined", u.name) }

// method is a method of a string or map, not called yet.
type method struct {
	of   any
	name string
}

func (c constant) evaluate(*run) (any, error) { return c.value, nil }

func (v variable) evaluate(r *run) (any, error) {
	for i := len(r.scopes) - 1; i >= 0; i-- {
		if value, ok := r.scopes[i][string(v)]; ok {
			return value, nil
		}
	}
	if v == "range" {
		return method{nil, "range"}, nil
	}
	return undefined{"'" + string(v) + "'"}, nil
}

func (l list) evaluate(r *run) (any, error) {
	items := make([]any, 0, len(l))
	for _, x := range l {
		value, err := r.evaluate(x)
		if err != nil {
			return nil, err
		}
		items = append(items, value)
	}
	return items, nil
}

func (m mapping) evaluate(r *run) (any, error) {
	result := values.NewMap()
	for i := range m.keys {
		key, err := r.evaluate(m.keys[i])
		if err != nil {
			return nil, err
		}
		value, err := r.evaluate(m.values[i])
		if err != nil {
			return nil, err
		}
		result.Set(toText(key), value)
	}
	return result, nil
}

func (c choice) evaluate(r *run) (any, error) {
	condition, err := r.evaluate(c.condition)
	switch {
	case err != nil:
		return nil, err
	case truth(condition):
		return r.evaluate(c.yes)
	case c.no == nil:
		return undefined{"the inline if without else"}, nil
	}
	return r.evaluate(c.no)
}

func (l logical) evaluate(r *run) (any, error) {
	left, err := r.evaluate(l.left)
	if err != nil || truth(left) == (l.operator == "or") {
		return left, err
	}
	return r.evaluate(l.right)
}

func (n negation) evaluate(r *run) (any, error) {
	value, err := r.evaluate(n.of)
	return !truth(value), err
}

func (c comparison) evaluate(r *run) (any, error) {
	left, err := r.evaluate(c.first)
	if err != nil {
		return nil, err
	}
	for i, o := range c.operators {
		right, err := r.evaluate(c.operands[i])
		if err != nil {
			return nil, err
		}
		holds, err := compare(o, left, right)
		if err != nil || !holds {
			return false, err
		}
		left = right
	}
	return true, nil
}

func (u unary) evaluate(r *run) (any, error) {
	value, err := r.evaluate(u.of)
	if err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case int64:
		if u.operator == "-" {
			return -v, nil
		}
		return v, nil
	case float64:
		if u.operator == "-" {
			return -v, nil
		}
		return v, nil
	}
	return nil, fmt.Errorf("%s needs a number, not %s", u.operator, typeName(value))
}

func (c call) evaluate(r *run) (any, error) {
	of, err := r.evaluate(c.of)
	if err != nil {
		return nil, err
	}
	given, err := c.arguments.evaluate(r)
	if err != nil {
		return nil, err
	}
	switch v := of.(type) {
	case method:
		value, err := callMethod(v.of, v.name, given)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		return value, nil
	case undefined:
		return nil, v.err()
	}
	return nil, fmt.Errorf("%s cannot be called", typeName(of))
}

func (f filtered) evaluate(r *run) (any, error) {
	of, err := r.evaluate(f.of)
	if err != nil {
		return nil, err
	}
	given, err := f.arguments.evaluate(r)
	if err != nil {
		return nil, err
	}
	if u, ok := of.(undefined); ok && f.name != "default" && f.name != "d" {
		return nil, u.err()
	}
	value, err := filterOf(f.name)(of, given)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	return value, nil
}

func (t tested) evaluate(r *run) (any, error) {
	of, err := r.evaluate(t.of)
	return test(t.name, of) != t.not, err
}

// given are the arguments of a call, evaluated.
type given struct {
	positional []any
	named      map[string]any
}

func (a arguments) evaluate(r *run) (given, error) {
	g := given{named: map[string]any{}}
	for _, x := range a.positional {
		value, err := r.evaluate(x)
		if err != nil {
			return g, err
		}
		g.positional = append(g.positional, value)
	}
	for i, x := range a.named {
		value, err := r.evaluate(x)
		if err != nil {
			return g, err
		}
		g.named[a.names[i]] = value
	}
	return g, nil
}

// get returns an argument by position or name, or its default.
func (g given) get(i int, name string, absent any) any {
	if i < len(g.positional) {
		return g.positional[i]
	}
	if value, ok := g.named[name]; ok {
		return value
	}
	return absent
}

// text is get for a string.
func (g given) text(i int, name, absent string) (string, error) {
	if s, ok := g.get(i, name, absent).(string); ok {
		return s, nil
	}
	return "", fmt.Errorf("%s needs a string", name)
}
