// Package query is what SOL013 lets clients ask lists for: filters by attributes, selected
// attributes, and pages. It works on what encoding/json makes of a document.
package query

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Filter is a filter expression; all of its conditions have to hold.
type Filter []condition

type condition struct {
	operator string
	path     []string
	values   []string
}

// key is the name of a member of a map instead of its value.
const key = "@key"

// ParseFilter reads an expression such as (eq,vnfdId,abc);(in,vnfInstanceName,'a,b',c).
func ParseFilter(text string) (Filter, error) {
	var f Filter
	for rest := text; ; {
		if !strings.HasPrefix(rest, "(") {
			return nil, fmt.Errorf("%q does not begin with a parenthesis", rest)
		}
		words, after, err := split(rest[1:])
		if err != nil {
			return nil, err
		}
		c, err := newCondition(words)
		if err != nil {
			return nil, err
		}
		f = append(f, c)
		if after == "" {
			return f, nil
		}
		if after[0] != ';' {
			return nil, fmt.Errorf("%q does not follow a semicolon", after)
		}
		rest = after[1:]
	}
}

// split cuts at commas up to the closing parenthesis. A value in single quotes may have
// both; a quote in it is doubled.
func split(text string) (words []string, rest string, err error) {
	word, quoted, closed := strings.Builder{}, false, false
	for i := 0; i < len(text); i++ {
		letter := text[i]
		switch {
		case quoted && letter == '\'' && i+1 < len(text) && text[i+1] == '\'':
			word.WriteByte(letter)
			i++
		case quoted && letter == '\'':
			quoted, closed = false, true
		case quoted:
			word.WriteByte(letter)
		case letter == ',' || letter == ')':
			words = append(words, word.String())
			word.Reset()
			closed = false
			if letter == ')' {
				return words, text[i+1:], nil
			}
		case closed || letter == '(' || letter == '\'' && word.Len() > 0:
			return nil, "", fmt.Errorf("a value with a comma, a parenthesis or a quote stands in single quotes: %q", text)
		case letter == '\'':
			quoted = true
		default:
			word.WriteByte(letter)
		}
	}
	return nil, "", fmt.Errorf("a parenthesis or quote of %q is not closed", text)
}

func newCondition(words []string) (condition, error) {
	single := slices.Contains([]string{"eq", "neq", "gt", "gte", "lt", "lte"}, words[0])
	switch {
	case !single && !slices.Contains([]string{"in", "nin", "cont", "ncont"}, words[0]):
		return condition{}, fmt.Errorf("there is no operator %q", words[0])
	case len(words) < 3:
		return condition{}, fmt.Errorf("operator %s needs an attribute and a value", words[0])
	case single && len(words) > 3:
		return condition{}, fmt.Errorf("operator %s takes one value", words[0])
	}
	path, err := parsePath(words[1])
	return condition{words[0], path, words[2:]}, err
}

// parsePath reads names separated by slashes; ~0 ~1 ~a ~b stand for ~ / , @.
func parsePath(text string) ([]string, error) {
	var path []string
	for _, part := range strings.Split(text, "/") {
		if part == "" {
			return nil, fmt.Errorf("attribute %q has an empty name", text)
		}
		if part != key {
			for i := 0; i < len(part); i++ {
				if part[i] == '@' || part[i] == '~' && (i+1 == len(part) || !strings.ContainsRune("01ab", rune(part[i+1]))) {
					return nil, fmt.Errorf("attribute %q: ~ and @ are written ~0 and ~b", text)
				}
			}
			part = strings.NewReplacer("~0", "~", "~1", "/", "~a", ",", "~b", "@").Replace(part)
		}
		path = append(path, part)
	}
	return path, nil
}

// Match reports whether a document passes.
func (f Filter) Match(document map[string]any) bool {
	return !slices.ContainsFunc(f, func(c condition) bool { return !c.match(document) })
}

func (c condition) match(document any) bool {
	found := collect(document, c.path)
	switch c.operator {
	case "neq", "nin", "ncont":
		positive := condition{map[string]string{"neq": "eq", "nin": "in", "ncont": "cont"}[c.operator], c.path, c.values}
		return len(found) > 0 && !slices.ContainsFunc(found, positive.holds)
	}
	return slices.ContainsFunc(found, c.holds)
}

// collect are the values at a path: of lists, of every element.
func collect(value any, path []string) []any {
	if list, ok := value.([]any); ok {
		var all []any
		for _, element := range list {
			all = append(all, collect(element, path)...)
		}
		return all
	}
	if len(path) == 0 {
		return []any{value}
	}
	members, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	if path[0] == key {
		var all []any
		for name := range members {
			all = append(all, collect(name, path[1:])...)
		}
		return all
	}
	next, ok := members[path[0]]
	if !ok {
		return nil
	}
	return collect(next, path[1:])
}

// holds compares one value: numbers as numbers, the rest as text.
func (c condition) holds(value any) bool {
	text, ok := plain(value)
	if !ok {
		return false
	}
	return slices.ContainsFunc(c.values, func(wanted string) bool {
		order := compare(value, text, wanted)
		switch c.operator {
		case "eq", "in":
			return order == 0
		case "gt":
			return order > 0
		case "gte":
			return order >= 0
		case "lt":
			return order < 0
		case "lte":
			return order <= 0
		}
		return strings.Contains(text, wanted)
	})
}

func compare(value any, text, wanted string) int {
	if number, ok := value.(float64); ok {
		if other, err := strconv.ParseFloat(wanted, 64); err == nil {
			switch {
			case number < other:
				return -1
			case number > other:
				return 1
			}
			return 0
		}
	}
	return strings.Compare(text, wanted)
}

// plain is a value as text; objects and null have none.
func plain(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		text, err := json.Marshal(v)
		return string(text), err == nil
	}
	return "", false
}
