package template

import (
	"errors"
	"fmt"

	"github.com/slipway-sh/slipway/addons/addonprovider/values"
)

func (a attribute) evaluate(r *run) (any, error) {
	of, err := r.evaluate(a.of)
	if err != nil {
		return nil, err
	}
	if hasMethod(of, a.name) {
		return method{of, a.name}, nil
	}
	return item(of, a.name)
}

func (s subscript) evaluate(r *run) (any, error) {
	of, err := r.evaluate(s.of)
	if err != nil {
		return nil, err
	}
	key, err := r.evaluate(s.key)
	if err != nil {
		return nil, err
	}
	return item(of, key)
}

// item is the value of a key or an index.
func item(of, key any) (any, error) {
	switch v := of.(type) {
	case undefined:
		return nil, v.err()
	case state:
		return v.attribute(toText(key)), nil
	case *values.Map:
		if value, ok := v.Get(toText(key)); ok {
			return value, nil
		}
	case []any:
		if i, ok := index(key, len(v)); ok {
			return v[i], nil
		}
	case string:
		runes := []rune(v)
		if i, ok := index(key, len(runes)); ok {
			return string(runes[i]), nil
		}
	}
	return undefined{fmt.Sprintf("%s has no %s, which", typeName(of), represent(key))}, nil
}

func index(key any, length int) (int, bool) {
	i, ok := key.(int64)
	if i < 0 {
		i += int64(length)
	}
	return int(i), ok && i >= 0 && i < int64(length)
}

func (s slice) evaluate(r *run) (any, error) {
	of, err := r.evaluate(s.of)
	if err != nil {
		return nil, err
	}
	length := 0
	runes := []rune(nil)
	switch v := of.(type) {
	case []any:
		length = len(v)
	case string:
		runes = []rune(v)
		length = len(runes)
	default:
		return nil, fmt.Errorf("%s cannot be sliced", typeName(of))
	}
	from, err := bound(r, s.from, 0, length)
	if err != nil {
		return nil, err
	}
	to, err := bound(r, s.to, length, length)
	if err != nil {
		return nil, err
	}
	from = min(from, to)
	if v, ok := of.([]any); ok {
		return v[from:to:to], nil
	}
	return string(runes[from:to]), nil
}

func bound(r *run, x expression, absent, length int) (int, error) {
	if x == nil {
		return absent, nil
	}
	value, err := r.evaluate(x)
	if err != nil {
		return 0, err
	}
	i, ok := value.(int64)
	if !ok {
		return 0, errors.New("a slice needs numbers")
	}
	if i < 0 {
		i += int64(length)
	}
	return int(max(0, min(i, int64(length)))), nil
}
