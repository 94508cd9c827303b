package config

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// decoder fills values from a tree, strictly: it collects every mistake and
// continues.
type decoder struct {
	// files maps a node to its file; nodes of defaults have none.
	files map[*yaml.Node]string
	// resolve makes the path of a File absolute.
	resolve func(path string, origin Origin) string
	// root is the type of the whole document, to find where a misplaced key belongs.
	root reflect.Type

	problems []Problem
	origins  map[string]Origin
}

// place is the position of a value: its path, and the node that a mistake is
// reported at, which is the key if there is one.
type place struct {
	at   *field.Path
	node *yaml.Node
}

func (p place) child(name string, node *yaml.Node) place { return place{p.at.Child(name), node} }
func (p place) key(name string, node *yaml.Node) place   { return place{p.at.Key(name), node} }
func (p place) index(i int, node *yaml.Node) place       { return place{p.at.Index(i), node} }

func (d *decoder) origin(n *yaml.Node) Origin {
	if file := d.files[n]; file != "" {
		return Origin{File: file, Line: n.Line}
	}
	return Origin{}
}

func (d *decoder) problem(p place, cause, remedy string) {
	d.problems = append(d.problems, Problem{Origin: d.origin(p.node), Path: pathText(p.at), Cause: cause, Remedy: remedy})
}

// value decodes one value of any type.
func (d *decoder) value(n *yaml.Node, v reflect.Value, p place) {
	if p.at != nil {
		d.origins[p.at.String()] = d.origin(p.node)
	}
	if n.Kind == yaml.AliasNode {
		d.problem(p, "aliases are not allowed", "write the value out, or put the shared part into a file of its own and add it with -f")
		return
	}
	if isText(v.Type()) {
		d.text(n, v, p)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Elem(), p)
	case reflect.Struct:
		d.structure(n, v, p)
	case reflect.Map:
		d.mapping(n, v, p)
	case reflect.Slice:
		d.list(n, v, p)
	case reflect.Interface:
		d.free(n, v, p)
	default:
		d.scalar(n, v, p)
	}
}

// structure decodes a map with known keys; missing and null keys get their
// defaults.
func (d *decoder) structure(n *yaml.Node, v reflect.Value, p place) {
	known := entries(v.Type())
	given := map[string]bool{}
	for key, value := range d.pairs(n, p) {
		i := slices.IndexFunc(known, func(e entry) bool { return e.name == key.Value })
		if i < 0 {
			d.problem(p.child(key.Value, key), fmt.Sprintf("unknown key %q", key.Value), didYouMean(key.Value, known, d.root))
			continue
		}
		if isNull(value) {
			continue
		}
		given[key.Value] = true
		d.value(value, v.Field(known[i].index), p.child(key.Value, key))
	}
	for _, e := range known {
		if !given[e.name] {
			d.absent(e, v.Field(e.index), p)
		}
	}
}

// absent gives a missing key its default, also inside a structure.
func (d *decoder) absent(e entry, v reflect.Value, p place) {
	node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	if e.initial != "" {
		if err := yaml.Unmarshal([]byte(e.initial), node); err != nil {
			panic(fmt.Sprintf("default of %s: %v", e.name, err))
		}
		node = node.Content[0]
	} else if v.Kind() != reflect.Struct || isText(v.Type()) {
		return
	}
	d.value(node, v, p.child(e.name, node))
}

// pairs yields the keys and values of a map, and reports repeated keys.
func (d *decoder) pairs(n *yaml.Node, p place) func(func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		if n.Kind != yaml.MappingNode {
			d.problem(p, "expected a map, found "+describe(n), "")
			return
		}
		first := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			line, repeated := first[key.Value]
			switch {
			case key.Kind != yaml.ScalarNode || (key.Tag != "!!str" && key.Tag != "!!merge"):
				d.problem(place{p.at, key}, "a key must be text, found "+describe(key), fmt.Sprintf("quote it: %q", key.Value))
			case repeated:
				d.problem(p.child(key.Value, key), fmt.Sprintf("key %q is repeated; it was set in line %d", key.Value, line), "keep one of them")
			case !yield(key, value):
				return
			}
			if !repeated {
				first[key.Value] = key.Line
			}
		}
	}
}

// mapping decodes a map whose keys users choose.
func (d *decoder) mapping(n *yaml.Node, v reflect.Value, p place) {
	v.Set(reflect.MakeMap(v.Type()))
	for key, value := range d.pairs(n, p) {
		if isNull(value) {
			continue
		}
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(value, element, p.key(key.Value, key))
		v.SetMapIndex(reflect.ValueOf(key.Value), element)
	}
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, p place) {
	if n.Kind != yaml.SequenceNode {
		d.problem(p, "expected a list, found "+describe(n), fmt.Sprintf("write [%s], or one line with \"- \" per element", n.Value))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, element := range n.Content {
		if isNull(element) {
			d.problem(p.index(i, element), "an element is empty", "remove it")
			continue
		}
		d.value(element, v.Index(i), p.index(i, element))
	}
}

// isText reports whether a type has its own method to read itself from text.
func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}
