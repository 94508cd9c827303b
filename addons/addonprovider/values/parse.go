package values

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxNodes bounds a document after its aliases are resolved, against documents that grow
// exponentially.
const maxNodes = 1 << 20

// maxDepth bounds how deep a document nests: an alias may be within what it refers to, and each
// level takes some hundred bytes of stack.
const maxDepth = 1000

// Parse reads one YAML document; an empty one is nil.
func Parse(text string) (any, error) {
	documents, err := ParseAll(text)
	switch {
	case err != nil:
		return nil, err
	case len(documents) == 0:
		return nil, nil
	case len(documents) > 1:
		return nil, errors.New("reading YAML: expected one document")
	}
	return documents[0], nil
}

// ParseAll reads the documents of a stream.
func ParseAll(text string) ([]any, error) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var documents []any
	for {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading YAML: %w", err)
		}
		reader := reader{left: maxNodes}
		value, err := reader.value(&node)
		if err != nil {
			return nil, fmt.Errorf("reading YAML: line %d: %w", reader.line, err)
		}
		documents = append(documents, value)
	}
}

type reader struct {
	left  int
	depth int
	line  int
}

func (r *reader) value(node *yaml.Node) (any, error) {
	r.line = node.Line
	if r.left--; r.left < 0 {
		return nil, errors.New("the document is too large")
	}
	if r.depth++; r.depth > maxDepth {
		return nil, errors.New("the document nests too deep")
	}
	defer func() { r.depth-- }()
	switch node.Kind {
	case 0:
		return nil, nil
	case yaml.DocumentNode:
		return r.value(node.Content[0])
	case yaml.AliasNode:
		return r.value(node.Alias)
	case yaml.SequenceNode:
		list := make([]any, 0, len(node.Content))
		for _, item := range node.Content {
			value, err := r.value(item)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	case yaml.MappingNode:
		return r.mapping(node)
	}
	return scalar(node)
}

func (r *reader) mapping(node *yaml.Node) (any, error) {
	m := NewMap()
	// Merged keys come first and give way to the mapping's own.
	for i := 0; i < len(node.Content); i += 2 {
		if node.Content[i].Tag == "!!merge" {
			if err := r.merge(m, node.Content[i+1]); err != nil {
				return nil, err
			}
		}
	}
	for i := 0; i < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Tag == "!!merge" {
			continue
		}
		name, err := r.value(key)
		if err != nil {
			return nil, err
		}
		switch name.(type) {
		case *Map, []any:
			return nil, errors.New("a key is not a scalar")
		}
		value, err := r.value(node.Content[i+1])
		if err != nil {
			return nil, err
		}
		m.Set(keyText(name), value)
	}
	return m, nil
}

func (r *reader) merge(into *Map, node *yaml.Node) error {
	value, err := r.value(node)
	if err != nil {
		return err
	}
	sources, ok := value.([]any)
	if !ok {
		sources = []any{value}
	}
	for _, source := range sources {
		m, ok := source.(*Map)
		if !ok {
			return errors.New("<< needs a mapping")
		}
		for _, key := range m.keys {
			if _, have := into.values[key]; !have {
				into.Set(key, m.values[key])
			}
		}
	}
	return nil
}

// scalar gives a scalar the type of its tag or, if it is plain, the type that YAML 1.1 gives it.
func scalar(node *yaml.Node) (any, error) {
	explicit := node.Style&yaml.TaggedStyle != 0
	if explicit {
		switch node.ShortTag() {
		case "!!str":
			return node.Value, nil
		case "!!binary":
			data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(node.Value), ""))
			return string(data), err
		}
	}
	if !explicit && node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return node.Value, nil
	}
	return resolve(node.Value), nil
}
