package source

import (
	"bytes"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// terse leaves out what describes fields: texts by the name description. A field of that name is
// a map, and stays.
func terse(text []byte) ([]byte, error) {
	nodes, err := (&kio.ByteReader{Reader: bytes.NewReader(text), OmitReaderAnnotations: true}).Read()
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		dropDescriptions(node.YNode())
	}
	var out bytes.Buffer
	err = kio.ByteWriter{Writer: &out}.Write(nodes)
	return out.Bytes(), err
}

func dropDescriptions(node *yaml.Node) {
	var kept []*yaml.Node
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && describes(node.Content, i-i%2) {
			continue
		}
		dropDescriptions(child)
		kept = append(kept, child)
	}
	node.Content = kept
}

// describes tells whether the entry of a map that begins there is a description.
func describes(entries []*yaml.Node, key int) bool {
	return entries[key].Value == "description" && entries[key+1].Kind == yaml.ScalarNode
}
