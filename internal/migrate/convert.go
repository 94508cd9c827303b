package migrate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The conversions of values. Old files write numbers and booleans as text too.

func text(value any) (any, bool, error) {
	switch v := value.(type) {
	case string:
		return v, v != "", nil
	case float64: // all numbers of YAML; an ID is not 1e+06
		return strconv.FormatFloat(v, 'f', -1, 64), true, nil
	case bool, int, int64:
		return fmt.Sprint(v), true, nil
	}
	return nil, false, fmt.Errorf("%v is not a text", value)
}

func number(value any) (any, bool, error) {
	n, err := integer(value)
	return n, err == nil && n != 0, err
}

// count is a number that may be none.
func count(value any) (any, bool, error) {
	n, err := integer(value)
	return n, err == nil, err
}

func integer(value any) (int64, error) {
	switch v := value.(type) {
	case int:
		return int64(v), nil
	case int64:
		return v, nil
	case float64:
		if v == math.Trunc(v) {
			return int64(v), nil
		}
	case string:
		return strconv.ParseInt(strings.TrimSpace(v), 10, 64)
	}
	return 0, fmt.Errorf("%v is not a number", value)
}

// texts is a list of texts, also from one text with commas or spaces.
func texts(value any) (any, bool, error) {
	switch v := value.(type) {
	case string:
		list := []any{}
		for _, one := range strings.FieldsFunc(strings.Trim(v, "[] "), func(c rune) bool { return c == ',' || c == ' ' }) {
			list = append(list, strings.Trim(one, `"'`))
		}
		return list, len(list) > 0, nil
	case []any:
		for _, one := range v {
			if _, ok := one.(string); !ok {
				return nil, false, fmt.Errorf("%v is not a text", one)
			}
		}
		return v, len(v) > 0, nil
	}
	return nil, false, fmt.Errorf("%v is not a list", value)
}

func boolean(value any) (bool, error) {
	switch v := value.(type) {
	case bool:
		return v, nil
	case string:
		switch strings.ToLower(v) {
		case "true", "yes", "on":
			return true, nil
		case "false", "no", "off":
			return false, nil
		}
	}
	return false, fmt.Errorf("%v is neither true nor false", value)
}

func truth(value any) (any, bool, error) {
	yes, err := boolean(value)
	return yes, err == nil, err
}
