package template

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/addons/addonprovider/values"
)

func compare(operator string, left, right any) (bool, error) {
	switch operator {
	case "==":
		return equal(left, right), nil
	case "!=":
		return !equal(left, right), nil
	case "in":
		return contains(right, left)
	case "not in":
		found, err := contains(right, left)
		return !found, err
	}
	order, err := order(left, right)
	if err != nil {
		return false, err
	}
	switch operator {
	case "<":
		return order < 0, nil
	case "<=":
		return order <= 0, nil
	case ">":
		return order > 0, nil
	}
	return order >= 0, nil
}

func order(left, right any) (int, error) {
	if x, ok := left.(string); ok {
		if y, ok := right.(string); ok {
			return strings.Compare(x, y), nil
		}
	}
	x, first := toNumber(left)
	y, second := toNumber(right)
	if !first || !second {
		return 0, fmt.Errorf("%s and %s have no order", typeName(left), typeName(right))
	}
	return cmp.Compare(x, y), nil
}

func contains(in, value any) (bool, error) {
	switch v := in.(type) {
	case undefined:
		return false, nil
	case string:
		part, ok := value.(string)
		if !ok {
			return false, fmt.Errorf("%s cannot be in a string", typeName(value))
		}
		return strings.Contains(v, part), nil
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return equal(item, value) }), nil
	case *values.Map:
		key, ok := value.(string)
		if !ok {
			return false, nil
		}
		_, found := v.Get(key)
		return found, nil
	}
	return false, fmt.Errorf("nothing can be in %s", typeName(in))
}

func (b binary) evaluate(r *run) (any, error) {
	left, err := r.evaluate(b.left)
	if err != nil {
		return nil, err
	}
	right, err := r.evaluate(b.right)
	if err != nil {
		return nil, err
	}
	if b.operator == "~" {
		return joined(toText(left), toText(right))
	}
	for _, value := range []any{left, right} {
		if u, ok := value.(undefined); ok {
			return nil, u.err()
		}
	}
	if value, done, err := combine(b.operator, left, right); done {
		return value, err
	}
	x, first := toNumber(left)
	y, second := toNumber(right)
	if !first || !second {
		return nil, fmt.Errorf("%s of %s and %s", b.operator, typeName(left), typeName(right))
	}
	if (b.operator == "/" || b.operator == "//" || b.operator == "%") && y == 0 {
		return nil, errors.New("division by zero")
	}
	i, first := left.(int64)
	j, second := right.(int64)
	if first && second && b.operator != "/" {
		return integers(b.operator, i, j)
	}
	return floats(b.operator, x, y), nil
}

// combine is + of strings and lists, and * of strings and numbers.
func combine(operator string, left, right any) (value any, done bool, err error) {
	switch l := left.(type) {
	case string:
		if s, ok := right.(string); ok && operator == "+" {
			value, err = joined(l, s)
			return value, true, err
		}
		if n, ok := right.(int64); ok && operator == "*" {
			if n > 0 && int64(len(l)) > maxSize/n {
				return nil, true, errors.New("a string is too large")
			}
			return strings.Repeat(l, int(max(0, n))), true, nil
		}
	case []any:
		if r, ok := right.([]any); ok && operator == "+" {
			if len(l)+len(r) > maxItems {
				return nil, true, errors.New("a list is too long")
			}
			return slices.Concat(l, r), true, nil
		}
	}
	return nil, false, nil
}

func joined(a, b string) (any, error) {
	if len(a)+len(b) > maxSize {
		return nil, errors.New("a string is too large")
	}
	return a + b, nil
}

// integers follows Python: division and remainder round down.
func integers(operator string, x, y int64) (any, error) {
	switch operator {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	case "//":
		return int64(math.Floor(float64(x) / float64(y))), nil
	case "%":
		return ((x % y) + y) % y, nil
	}
	power := math.Pow(float64(x), float64(y))
	if y < 0 {
		return power, nil
	}
	if math.Abs(power) > math.MaxInt64/2 {
		return nil, errors.New("a number is too large")
	}
	return int64(power), nil
}

func floats(operator string, x, y float64) float64 {
	switch operator {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/":
		return x / y
	case "//":
		return math.Floor(x / y)
	case "%":
		return x - y*math.Floor(x/y)
	}
	return math.Pow(x, y)
}
