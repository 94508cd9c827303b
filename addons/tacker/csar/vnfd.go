package csar

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// VNFD is what a package says of the VNF: its identity, its parts, how they scale, and
// which script runs when.
type VNFD struct {
	ID, Provider, Product, SoftwareVersion, Version string
	Description                                     string
	Units                                           []Unit
	// Operations are those around which the script runs, such as scale_end.
	Operations []string
}

// Unit is a VDU: the control plane or a node group. To Tacker it is an anchor Pod; the
// script scales the machines.
type Unit struct {
	// ID is the vduId, Resource the name by which Tacker finds the Pod.
	ID, Resource, Description string
	// Initial is how many machines there are on level 0, Step how many each level
	// adds, Level the one to begin with and MaxLevel the last one.
	Initial, Step, Level, MaxLevel int
}

// Count is the number of machines on a level.
func (u Unit) Count(level int) int { return u.Initial + level*u.Step }

// Aspect is the scaling aspect of a unit; "" if it does not scale.
func (u Unit) Aspect() string {
	if u.MaxLevel == 0 {
		return ""
	}
	return u.ID + "_scale"
}

// Flavour is the only deployment flavour of a package, DefaultLevel its only level.
const (
	Flavour      = "default"
	DefaultLevel = "default"
)

const (
	commonTypes = "etsi_nfv_sol001_common_types.yaml"
	vnfdTypes   = "etsi_nfv_sol001_vnfd_types.yaml"
	grammar     = "tosca_simple_yaml_1_2"
	nodeType    = "slipway.nodes.VNF"
	// interfaceType has the operations that SOL001 2.6.1 lacks: rollbacks, and the change
	// of the package.
	interfaceType = "slipway.interfaces.Vnflcm"
	scriptName    = "slipway-script"
	scriptFile    = "slipway_vnf.py"
)

func typesFile(name string) string { return name + "_types.yaml" }
func topFile(name string) string   { return name + "_top.vnfd.yaml" }
func flavourFile(name string) string {
	return name + "_df_" + Flavour + ".yaml"
}

type object = map[string]any

// definitions are the files of the VNFD beside those of ETSI.
func (v VNFD) definitions(name string) (map[string][]byte, error) {
	imports := []string{commonTypes, vnfdTypes, typesFile(name)}
	files := map[string]object{
		typesFile(name): {"tosca_definitions_version": grammar, "description": "Type of the VNF", "imports": imports[:2], "interface_types": object{interfaceType: v.interfaceType()},
			"node_types": object{nodeType: v.nodeType()}},
		topFile(name): {"tosca_definitions_version": grammar, "description": v.Description, "imports": append(imports[:3:3], flavourFile(name)),
			"topology_template": object{
				"inputs":         object{"selected_flavour": object{"type": "string", "description": "Deployment flavour that was chosen"}},
				"node_templates": object{"VNF": object{"type": nodeType, "properties": v.identity()}},
			}},
		flavourFile(name): {"tosca_definitions_version": grammar, "description": "The only deployment flavour", "imports": imports, "topology_template": v.flavour()},
	}
	texts := map[string][]byte{}
	for file, content := range files {
		text, err := yaml.Marshal(content) // sorted keys
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", file, err)
		}
		texts[file] = text
	}
	return texts, nil
}

func (v VNFD) identity() object {
	return object{"flavour_id": object{"get_input": "selected_flavour"}, "descriptor_id": v.ID, "provider": v.Provider, "product_name": v.Product,
		"software_version": v.SoftwareVersion, "descriptor_version": v.Version, "vnfm_info": []string{"Tacker"}}
}

func (v VNFD) interfaceType() object {
	kind := object{"derived_from": "tosca.interfaces.nfv.Vnflcm"}
	for _, operation := range v.Operations {
		kind[operation] = object{"description": "Slipway's script runs"}
	}
	return kind
}

func (v VNFD) nodeType() object {
	only := func(value string) object {
		return object{"type": "string", "constraints": []any{object{"valid_values": []string{value}}}, "default": value}
	}
	// tosca-parser wants occurrences, which SOL001 2.6.1 leaves out.
	link := object{"capability": "tosca.capabilities.nfv.VirtualLinkable", "occurrences": []int{0, 1}}
	return object{
		"derived_from": "tosca.nodes.nfv.VNF",
		"properties": object{
			"descriptor_id": only(v.ID), "descriptor_version": only(v.Version), "provider": only(v.Provider), "product_name": only(v.Product), "software_version": only(v.SoftwareVersion),
			"flavour_id": only(Flavour), "flavour_description": object{"type": "string", "default": ""},
			"vnfm_info": object{"type": "list", "entry_schema": object{"type": "string", "constraints": []any{object{"valid_values": []string{"Tacker"}}}}, "default": []string{"Tacker"}},
		},
		"requirements": []any{object{"virtual_link_external": link}, object{"virtual_link_internal": link}},
		"interfaces":   object{"Vnflcm": object{"type": interfaceType}},
	}
}

// flavour is the topology of the deployment flavour.
func (v VNFD) flavour() object {
	text := object{"type": "string"}
	inputs := object{"vnfm_info": object{"type": "list", "entry_schema": text}}
	for _, name := range []string{"descriptor_id", "descriptor_version", "provider", "product_name", "software_version", "flavour_id", "flavour_description"} {
		inputs[name] = text
	}
	operations := object{}
	for _, operation := range v.Operations {
		operations[operation] = object{"implementation": scriptName}
	}
	nodes := object{"VNF": object{
		"type": nodeType, "properties": object{"flavour_description": "The only deployment flavour"},
		"interfaces": object{"Vnflcm": operations},
		"artifacts":  object{scriptName: object{"description": "Slipway's management script", "type": "tosca.artifacts.Implementation.Python", "file": "../" + scripts + scriptFile}},
	}}
	for _, u := range v.Units {
		nodes[u.ID] = object{"type": "tosca.nodes.nfv.Vdu.Compute", "properties": object{"name": u.Resource, "description": u.Description,
			"vdu_profile": object{"min_number_of_instances": u.Initial, "max_number_of_instances": u.Count(u.MaxLevel)}}}
	}
	return object{
		"inputs": inputs,
		"substitution_mappings": object{"node_type": nodeType, "properties": object{"flavour_id": Flavour},
			"requirements": object{"virtual_link_external": []any{}}},
		"node_templates": nodes, "policies": v.policies(),
	}
}

// policies are how the units scale, as in SOL001 2.6.1 section 6.10.
func (v VNFD) policies() []any {
	policy := func(name, kind string, properties object, targets ...string) object {
		p := object{"type": "tosca.policies.nfv." + kind, "properties": properties}
		if len(targets) > 0 {
			p["targets"] = targets
		}
		return object{name: p}
	}
	aspects, levels := object{}, object{}
	var all, each []any
	for _, u := range v.Units {
		each = append(each,
			policy(u.ID+"_initial_delta", "VduInitialDelta", object{"initial_delta": object{"number_of_instances": u.Initial}}, u.ID),
			policy(u.ID+"_instantiation_levels", "VduInstantiationLevels", object{"levels": object{DefaultLevel: object{"number_of_instances": u.Count(u.Level)}}}, u.ID))
		if u.Aspect() == "" {
			continue
		}
		aspects[u.Aspect()] = object{"name": u.Aspect(), "description": "Machines of " + u.ID, "max_scale_level": u.MaxLevel, "step_deltas": []string{delta}}
		levels[u.Aspect()] = object{"scale_level": u.Level}
		each = append(each, policy(u.ID+"_scaling_deltas", "VduScalingAspectDeltas",
			object{"aspect": u.Aspect(), "deltas": object{delta: object{"number_of_instances": u.Step}}}, u.ID))
	}
	level := object{"description": "What the package says"}
	if len(aspects) > 0 {
		all = append(all, policy("scaling_aspects", "ScalingAspects", object{"aspects": aspects}))
		level["scale_info"] = levels
	}
	all = append(all, policy("instantiation_levels", "InstantiationLevels", object{"levels": object{DefaultLevel: level}, "default_level": DefaultLevel}))
	return append(all, each...)
}

// delta is the only step that Tacker supports in an aspect.
const delta = "delta_1"
