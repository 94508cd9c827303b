package tackertest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// VNFD is what Tacker knows of a package: its vnfdId, its VDUs, how they scale, and which
// script runs when.
type VNFD struct {
	ID, Flavour, DefaultLevel string

	names   map[string]string         // properties.name of VDUs
	initial map[string]int            // initial_delta
	counts  map[string]map[string]int // instances of a VDU on each instantiation level
	levels  map[string]map[string]int // scale levels on each instantiation level
	max     map[string]int            // max_scale_level of aspects
	deltas  map[string]map[string]int // of each aspect, by VDU
	scripts map[string]string         // operations with their script's path
}

type document struct {
	Grammar  string   `json:"tosca_definitions_version"`
	Imports  []string `json:"imports"`
	Topology struct {
		Substitution struct {
			Type       string            `json:"node_type"`
			Properties map[string]string `json:"properties"`
		} `json:"substitution_mappings"`
		Nodes    map[string]node     `json:"node_templates"`
		Policies []map[string]policy `json:"policies"`
	} `json:"topology_template"`
}

type node struct {
	Type       string `json:"type"`
	Properties struct {
		Name string `json:"name"`
		ID   any    `json:"descriptor_id"`
	} `json:"properties"`
	Interfaces map[string]map[string]any `json:"interfaces"`
	Artifacts  map[string]struct {
		Type string `json:"type"`
		File string `json:"file"`
	} `json:"artifacts"`
}

type policy struct {
	Type       string   `json:"type"`
	Targets    []string `json:"targets"`
	Properties struct {
		Aspects map[string]struct {
			Max    int      `json:"max_scale_level"`
			Deltas []string `json:"step_deltas"`
		} `json:"aspects"`
		Aspect string `json:"aspect"`
		Deltas map[string]struct {
			Number int `json:"number_of_instances"`
		} `json:"deltas"`
		Initial struct {
			Number int `json:"number_of_instances"`
		} `json:"initial_delta"`
		Levels map[string]struct {
			Number int `json:"number_of_instances"`
			Scale  map[string]struct {
				Level int `json:"scale_level"`
			} `json:"scale_info"`
		} `json:"levels"`
		Default string `json:"default_level"`
	} `json:"properties"`
}

// documentOf reads a file of definitions. ETSI's own are another's to test.
func documentOf(file string, text []byte) (document, error) {
	var d document
	if strings.HasPrefix(path.Base(file), "etsi_nfv_sol001_") {
		return d, nil
	}
	if err := yaml.Unmarshal(text, &d); err != nil {
		return d, fmt.Errorf("definitions: %s: %w", file, err)
	}
	if d.Grammar == "" {
		return d, fmt.Errorf("definitions: %s has no tosca_definitions_version", file)
	}
	return d, nil
}

// parse reads the definitions from the entry on.
func parse(files map[string][]byte, entry string) (*VNFD, error) {
	all, err := imported(files, entry, nil)
	if err != nil {
		return nil, err
	}
	v := &VNFD{names: map[string]string{}, initial: map[string]int{}, counts: map[string]map[string]int{}, levels: map[string]map[string]int{},
		max: map[string]int{}, deltas: map[string]map[string]int{}, scripts: map[string]string{}}
	for _, file := range all {
		d, err := documentOf(file, files[file])
		if err != nil {
			return nil, err
		}
		if file == entry {
			v.ID, _ = d.Topology.Nodes["VNF"].Properties.ID.(string)
		}
		if d.Topology.Substitution.Type == "" {
			continue
		}
		v.Flavour = d.Topology.Substitution.Properties["flavour_id"]
		if err := v.flavour(file, d); err != nil {
			return nil, err
		}
	}
	if v.Flavour == "" {
		return nil, fmt.Errorf("definitions: there is no deployment flavour")
	}
	return v, v.agree()
}

// flavour reads the file of the deployment flavour.
func (v *VNFD) flavour(file string, d document) error {
	for id, n := range d.Topology.Nodes {
		switch {
		case n.Type == "tosca.nodes.nfv.Vdu.Compute":
			v.names[id] = n.Properties.Name
		case n.Type == d.Topology.Substitution.Type:
			for operation, of := range n.Interfaces["Vnflcm"] {
				if err := v.script(file, operation, of, n); err != nil {
					return err
				}
			}
		}
	}
	for _, one := range d.Topology.Policies {
		for _, p := range one {
			v.policy(p)
		}
	}
	return nil
}

// script finds the artifact that an operation runs; an empty list is none.
func (v *VNFD) script(file, operation string, of any, n node) error {
	named, ok := of.(map[string]any)
	if !ok {
		return nil
	}
	artifact, there := n.Artifacts[fmt.Sprint(named["implementation"])]
	if !there || artifact.Type != "tosca.artifacts.Implementation.Python" {
		return fmt.Errorf("definitions: %s: %s has no artifact of Python", file, operation)
	}
	v.scripts[operation] = path.Join(path.Dir(file), artifact.File)
	return nil
}

func (v *VNFD) policy(p policy) {
	switch strings.TrimPrefix(p.Type, "tosca.policies.nfv.") {
	case "ScalingAspects":
		for aspect, of := range p.Properties.Aspects {
			v.max[aspect] = of.Max
		}
	case "VduInitialDelta":
		for _, unit := range p.Targets {
			v.initial[unit] = p.Properties.Initial.Number
		}
	case "VduScalingAspectDeltas":
		of := map[string]int{}
		for _, delta := range p.Properties.Deltas {
			for _, unit := range p.Targets {
				of[unit] = delta.Number
			}
		}
		v.deltas[p.Properties.Aspect] = of
	case "InstantiationLevels":
		v.DefaultLevel = p.Properties.Default
		for level, of := range p.Properties.Levels {
			v.levels[level] = map[string]int{}
			for aspect, at := range of.Scale {
				v.levels[level][aspect] = at.Level
			}
		}
	case "VduInstantiationLevels":
		for _, unit := range p.Targets {
			v.counts[unit] = map[string]int{}
			for level, of := range p.Properties.Levels {
				v.counts[unit][level] = of.Number
			}
		}
	}
}

// agree looks whether aspects, levels and VDUs fit together.
func (v *VNFD) agree() error {
	if v.levels[v.DefaultLevel] == nil {
		return fmt.Errorf("definitions: default_level %q is no level", v.DefaultLevel)
	}
	for level, of := range v.levels {
		for aspect := range of {
			if _, ok := v.max[aspect]; !ok {
				return fmt.Errorf("definitions: level %s has aspect %s, which is none", level, aspect)
			}
		}
	}
	for unit := range v.names {
		if _, ok := v.initial[unit]; !ok || v.counts[unit] == nil {
			return fmt.Errorf("definitions: VDU %s has no number of instances", unit)
		}
	}
	for aspect, of := range v.deltas {
		for unit := range of {
			if _, ok := v.names[unit]; !ok {
				return fmt.Errorf("definitions: aspect %s is of VDU %s, which there is not", aspect, unit)
			}
		}
		if _, ok := v.max[aspect]; !ok {
			return fmt.Errorf("definitions: deltas of aspect %s, which is none", aspect)
		}
	}
	return nil
}

// Units are the VDUs in order of their ids.
func (v *VNFD) Units() (all []string) {
	for id := range v.names {
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}
