package config

import (
	"encoding"
	"fmt"
	"net/netip"
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// scalar decodes text, whole numbers and booleans. It converts no value: the
// version 1.30 would silently become 1.3.
func (d *decoder) scalar(n *yaml.Node, v reflect.Value, p place) {
	switch v.Kind() {
	case reflect.String:
		if d.want(n, "!!str", "text", fmt.Sprintf("quote it: %q", n.Value), p) {
			v.SetString(d.path(n.Value, v.Type(), p))
		}
	case reflect.Bool:
		if d.want(n, "!!bool", "a boolean", "write true or false", p) {
			v.SetBool(n.Value[0] == 't' || n.Value[0] == 'T')
		}
	case reflect.Int:
		if !d.want(n, "!!int", "a whole number", "write digits without quotes", p) {
			return
		}
		number, err := strconv.Atoi(n.Value)
		if err != nil {
			d.problem(p, fmt.Sprintf("%s is not a decimal number", n.Value), "write digits without quotes")
			return
		}
		v.SetInt(int64(number))
	default:
		panic(fmt.Sprintf("no decoding of %s", v.Type()))
	}
}

// want checks that the node is a scalar with the tag.
func (d *decoder) want(n *yaml.Node, tag, wanted, remedy string, p place) bool {
	if n.Kind == yaml.ScalarNode && n.Tag == tag {
		return true
	}
	if n.Kind != yaml.ScalarNode {
		remedy = ""
	}
	d.problem(p, fmt.Sprintf("expected %s, found %s", wanted, describe(n)), remedy)
	return false
}

// path decodes a File as an absolute path.
func (d *decoder) path(text string, t reflect.Type, p place) string {
	if t != reflect.TypeFor[File]() || text == "" || d.resolve == nil {
		return text
	}
	return d.resolve(text, d.origin(p.node))
}

// text decodes a type that reads itself from text.
func (d *decoder) text(n *yaml.Node, v reflect.Value, p place) {
	if !d.want(n, "!!str", "text", fmt.Sprintf("quote it: %q", n.Value), p) {
		return
	}
	err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.Value))
	if err == nil {
		return
	}
	switch v.Interface().(type) {
	case netip.Prefix:
		d.problem(p, fmt.Sprintf("%q is not a CIDR", n.Value), "write a range such as 192.168.100.0/24")
	case netip.Addr:
		d.problem(p, fmt.Sprintf("%q is not an IP address", n.Value), "write an address such as 192.168.100.1")
	case Duration:
		d.problem(p, err.Error(), "write a number with its unit, such as 30m, 6h or 1h30m; a day is 24h")
	default:
		d.problem(p, err.Error(), "")
	}
}

// free decodes a value of any form into JSON's types.
func (d *decoder) free(n *yaml.Node, v reflect.Value, p place) {
	switch n.Kind {
	case yaml.MappingNode:
		all := map[string]any{}
		for key, value := range d.pairs(n, p) {
			all[key.Value] = d.any(value, p.key(key.Value, key))
		}
		v.Set(reflect.ValueOf(all))
	case yaml.SequenceNode:
		all := make([]any, len(n.Content))
		for i, element := range n.Content {
			all[i] = d.any(element, p.index(i, element))
		}
		v.Set(reflect.ValueOf(all))
	default:
		var value any
		if err := n.Decode(&value); err != nil {
			d.problem(p, err.Error(), "")
			return
		}
		if n.Tag == "!!timestamp" {
			value = n.Value // JSON has no dates
		}
		v.Set(reflect.ValueOf(value))
	}
}

func (d *decoder) any(n *yaml.Node, p place) any {
	var value any
	if !isNull(n) {
		d.value(n, reflect.ValueOf(&value).Elem(), p)
	}
	return value
}
