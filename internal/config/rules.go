package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// rules is a parsed `schema` tag of a field.
type rules struct {
	required  bool
	enum      []string
	keys      []string
	min, max  int
	maxLength int
	// zero also allows 0, which stands for "not given".
	zero   bool
	format string
}

// entry is a field of a struct as users see it: a key of a map.
type entry struct {
	name  string
	index int
	typ   reflect.Type
	// initial is the YAML text of the default; "" is the zero value.
	initial string
	rules   rules
}

// entries lists the keys of a struct type in the order of its fields.
func entries(t reflect.Type) []entry {
	var all []entry
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		all = append(all, entry{name: name, index: i, typ: field.Type, initial: field.Tag.Get("default"), rules: parseRules(field.Tag.Get("schema"))})
	}
	return all
}

// parseRules panics on an unknown rule: that is a mistake in this package, which
// every test finds.
func parseRules(tag string) rules {
	var r rules
	if tag == "" {
		return r
	}
	for _, part := range strings.Split(tag, ",") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "required":
			r.required = true
		case "zero":
			r.zero = true
		case "enum":
			r.enum = strings.Split(value, "|")
		case "keys":
			r.keys = strings.Split(value, "|")
		case "format":
			r.format = value
		case "min":
			r.min = number(value)
		case "max":
			r.max = number(value)
		case "maxLength":
			r.maxLength = number(value)
		default:
			panic(fmt.Sprintf("unknown rule %q in schema tag", part))
		}
	}
	return r
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(fmt.Sprintf("rule with the number %q in schema tag", text))
	}
	return n
}
