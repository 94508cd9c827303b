package csar

import (
	"errors"
	"maps"
	"path"
	"slices"

	"sigs.k8s.io/yaml"
)

// definition is what is read of a VNFD.
type definition struct {
	file     string
	flavour  string
	identity node
	nodes    map[string]node
	policies map[string]policy
}

type node struct {
	Type       string `json:"type"`
	Properties struct {
		Name    string `json:"name"`
		Profile struct {
			Min *int `json:"min_number_of_instances"`
			Max *int `json:"max_number_of_instances"`
		} `json:"vdu_profile"`
		ID       any    `json:"descriptor_id"`
		Provider string `json:"provider"`
		Product  string `json:"product_name"`
		Software string `json:"software_version"`
		Version  string `json:"descriptor_version"`
	} `json:"properties"`
	Interfaces map[string]map[string]any `json:"interfaces"`
	Artifacts  map[string]struct {
		File string `json:"file"`
	} `json:"artifacts"`
}

type count struct {
	Number *int `json:"number_of_instances"`
}

type policy struct {
	Type       string   `json:"type"`
	Targets    []string `json:"targets"`
	Properties struct {
		Aspects map[string]struct {
			Max    int      `json:"max_scale_level"`
			Deltas []string `json:"step_deltas"`
		} `json:"aspects"`
		Aspect  string           `json:"aspect"`
		Deltas  map[string]count `json:"deltas"`
		Initial count            `json:"initial_delta"`
		Levels  map[string]struct {
			count
			Scale map[string]struct {
				Level *int `json:"scale_level"`
			} `json:"scale_info"`
		} `json:"levels"`
		Default string `json:"default_level"`
	} `json:"properties"`
}

// document is a file of definitions.
type document struct {
	Grammar string   `json:"tosca_definitions_version"`
	Imports []string `json:"imports"`
	Types   map[string]struct {
		Properties map[string]struct {
			Default any `json:"default"`
		} `json:"properties"`
	} `json:"node_types"`
	Topology struct {
		Substitution struct {
			Type       string            `json:"node_type"`
			Properties map[string]string `json:"properties"`
		} `json:"substitution_mappings"`
		Nodes    map[string]node     `json:"node_templates"`
		Policies []map[string]policy `json:"policies"`
	} `json:"topology_template"`
}

// read reads the definitions from the entry on: the identity from the entry, the units
// and policies from the file of the deployment flavour.
func (c *Content) read(meta []block) (*definition, error) {
	if len(meta) == 0 || c.Files[meta[0]["Entry-Definitions"]] == nil {
		return nil, nil
	}
	entry := meta[0]["Entry-Definitions"]
	documents, err := c.imports(entry, map[string]document{})
	if err != nil {
		return nil, err
	}
	c.ID, _ = documents[entry].Topology.Nodes["VNF"].Properties.ID.(string)
	var wrong []error
	if c.ID == "" {
		wrong = append(wrong, broken(entry, "node VNF has no descriptor_id"))
	}
	var d *definition
	for _, file := range slices.Sorted(maps.Keys(documents)) {
		read := documents[file]
		for _, kind := range slices.Sorted(maps.Keys(read.Types)) {
			if id, ok := read.Types[kind].Properties["descriptor_id"]; ok && id.Default != nil && id.Default != c.ID {
				wrong = append(wrong, broken(file, "descriptor_id of %s is %v, and %s of node VNF", kind, id.Default, c.ID))
			}
		}
		if read.Topology.Substitution.Type == "" {
			continue
		}
		d = &definition{file: file, flavour: read.Topology.Substitution.Properties["flavour_id"], identity: documents[entry].Topology.Nodes["VNF"],
			nodes: read.Topology.Nodes, policies: map[string]policy{}}
		for _, one := range read.Topology.Policies {
			maps.Copy(d.policies, one)
		}
	}
	if d == nil {
		wrong = append(wrong, broken(entry, "no imported file has substitution_mappings: there is no deployment flavour"))
	}
	return d, errors.Join(wrong...)
}

// imports reads a file and those that it imports.
func (c *Content) imports(file string, known map[string]document) (map[string]document, error) {
	if _, ok := known[file]; ok {
		return known, nil
	}
	text, ok := c.Files[file]
	if !ok {
		return nil, broken(file, "it is imported, and not in the package")
	}
	var read document
	if base := path.Base(file); base == commonTypes || base == vnfdTypes {
		known[file] = read // ETSI's own: what they mean is fixed
		return known, nil
	}
	if err := yaml.Unmarshal(text, &read); err != nil {
		return nil, broken(file, "it cannot be read: %w", err)
	}
	known[file] = read
	var wrong []error
	for _, next := range read.Imports {
		_, err := c.imports(path.Join(path.Dir(file), next), known)
		wrong = append(wrong, err)
	}
	return known, errors.Join(wrong...)
}
