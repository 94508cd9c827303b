package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Value is one value of an environment, with its path and origin.
type Value struct {
	Path  string `json:"path"`
	Value any    `json:"value"`
	// Origin is "file:line" or "default".
	Origin string `json:"origin"`
}

// Values lists all values of the environment in the order of the file format.
func (l *Loaded) Values() ([]Value, error) {
	root, err := l.tree()
	if err != nil {
		return nil, err
	}
	var all []Value
	l.visit(root, reflect.TypeFor[Environment](), nil, func(leaf *yaml.Node, path string) {
		var value any
		_ = leaf.Decode(&value) // a scalar, or an empty list or map
		all = append(all, Value{Path: path, Value: value, Origin: l.Origin(path).String()})
	})
	return all, nil
}

// YAML is the environment with all files merged and all defaults, as one file; with
// origins, each line says where its value was set.
func (l *Loaded) YAML(origins bool) ([]byte, error) {
	root, err := l.tree()
	if err != nil {
		return nil, err
	}
	l.visit(root, reflect.TypeFor[Environment](), nil, func(leaf *yaml.Node, path string) {
		if origins {
			leaf.LineComment = l.Origin(path).String()
		}
	})
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return nil, fmt.Errorf("writing the environment: %w", err)
	}
	return text.Bytes(), nil
}

// tree is the environment as YAML nodes in block style, in the order of the
// types' fields: JSON keeps that order, and JSON is YAML.
func (l *Loaded) tree() (*yaml.Node, error) {
	text, err := json.Marshal(l.Environment)
	if err != nil {
		return nil, fmt.Errorf("writing the environment: %w", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("writing the environment: %w", err)
	}
	return document.Content[0], nil
}

// visit calls leaf for every value, with its path, and sets block style.
func (l *Loaded) visit(n *yaml.Node, t reflect.Type, at *field.Path, leaf func(*yaml.Node, string)) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	n.Style = 0
	if len(n.Content) == 0 {
		leaf(n, pathText(at))
		return
	}
	for i := 0; i < len(n.Content); i++ {
		switch {
		case n.Kind == yaml.SequenceNode:
			l.visit(n.Content[i], element(t), at.Index(i), leaf)
		case t.Kind() == reflect.Struct:
			key := n.Content[i]
			key.Style = 0
			l.visit(n.Content[i+1], keyType(t, key.Value), at.Child(key.Value), leaf)
			i++
		default:
			key := n.Content[i]
			key.Style = 0
			l.visit(n.Content[i+1], element(t), at.Key(key.Value), leaf)
			i++
		}
	}
}

// element is the type within a list or map; any holds any.
func element(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		return t.Elem()
	}
	return t
}

func keyType(t reflect.Type, key string) reflect.Type {
	for _, e := range entries(t) {
		if e.name == key {
			return e.typ
		}
	}
	panic("no key " + key + " in " + t.Name())
}
