package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// layer is one file as a tree with positions.
type layer struct {
	file string
	root *yaml.Node
}

// parse reads one document. An empty file is an empty layer.
func parse(file string, text []byte) (layer, []Problem) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return layer{file: file, root: &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1}}, nil
	}
	if err != nil {
		return layer{}, []Problem{syntaxProblem(file, err)}
	}
	if err := decoder.Decode(&second); err == nil {
		return layer{}, []Problem{{Origin: Origin{file, second.Line}, Cause: "a second document begins here",
			Remedy: "write one document per file, and name several files with -f"}}
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return layer{}, []Problem{{Origin: Origin{file, root.Line}, Cause: "expected a map, found " + describe(root), Remedy: "begin with apiVersion: " + APIVersion}}
	}
	return layer{file: file, root: root}, nil
}

// syntaxProblem takes the line number from the text of the library's error, the
// only place that has it.
func syntaxProblem(file string, err error) Problem {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	origin := Origin{File: file, Line: 1}
	if found := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(text); found != nil {
		origin.Line, _ = strconv.Atoi(found[1])
		text = strings.TrimPrefix(text, found[0])
	}
	return Problem{Origin: origin, Cause: "this is not YAML: " + text, Remedy: "check indentation, colons and quotes near this line"}
}

// merge merges over into base: maps are merged, everything else is replaced. A null
// in over hides the value of base; the decoder then takes the default.
func merge(base, over *yaml.Node) *yaml.Node {
	if base == nil || base.Kind != yaml.MappingNode || over.Kind != yaml.MappingNode {
		return over
	}
	merged := *base
	merged.Content = append([]*yaml.Node(nil), base.Content...)
	for i := 0; i+1 < len(over.Content); i += 2 {
		key, value := over.Content[i], over.Content[i+1]
		at := keyIndex(&merged, key.Value)
		if at < 0 {
			merged.Content = append(merged.Content, key, value)
			continue
		}
		merged.Content[at], merged.Content[at+1] = key, merge(merged.Content[at+1], value)
	}
	return &merged
}

func keyIndex(mapping *yaml.Node, key string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// index records the file of every node of a layer.
func (l layer) index(files map[*yaml.Node]string) {
	var visit func(*yaml.Node)
	visit = func(n *yaml.Node) {
		files[n] = l.file
		for _, child := range n.Content {
			visit(child)
		}
	}
	visit(l.root)
}

// describe describes a node for an error message.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.Tag {
	case "!!float":
		return fmt.Sprintf("the number (float) %s", n.Value)
	case "!!int":
		return fmt.Sprintf("the number %s", n.Value)
	case "!!bool":
		return fmt.Sprintf("the boolean %s", n.Value)
	case "!!timestamp":
		return fmt.Sprintf("the date %s", n.Value)
	case "!!null":
		return "null"
	}
	return fmt.Sprintf("the text %q", n.Value)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// pathText is the path as users read it; empty for the root.
func pathText(at *field.Path) string {
	if at == nil {
		return ""
	}
	return at.String()
}
