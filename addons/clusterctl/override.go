package clusterctl

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Settings are what an operator changes in a provider's manager.
type Settings struct {
	// FeatureGates are by name; gates that are not listed keep the provider's default.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// Args are by name, without dashes; they replace arguments of the same name.
	Args map[string]string `json:"args,omitempty"`
}

func (s Settings) empty() bool { return len(s.FeatureGates) == 0 && len(s.Args) == 0 }

// managerContainer is what kubebuilder calls the container of a manager.
const managerContainer = "manager"

// Override changes the arguments of the managers in a provider's components, and nothing else (row
// F28). Variables in the text are kept as variables.
func Override(components string, s Settings) (string, error) {
	if s.empty() {
		return components, nil
	}
	nodes, err := kio.FromBytes([]byte(components))
	if err != nil {
		return "", fmt.Errorf("reading components: %w", err)
	}
	changed := false
	for _, node := range nodes {
		if node.GetKind() != "Deployment" {
			continue
		}
		args, err := node.Pipe(yaml.Lookup("spec", "template", "spec", "containers", "[name="+managerContainer+"]", "args"))
		if err != nil {
			return "", fmt.Errorf("reading Deployment %s: %w", node.GetName(), err)
		}
		if args == nil {
			continue
		}
		setArgs(args.YNode(), s)
		changed = true
	}
	if !changed {
		return "", fmt.Errorf("no Deployment has a container %s with arguments", managerContainer)
	}
	return kio.StringAll(nodes)
}

func setArgs(list *yaml.Node, s Settings) {
	if len(s.FeatureGates) > 0 {
		set(list, "feature-gates", func(old string) string { return mergeGates(old, s.FeatureGates) })
	}
	for _, name := range slices.Sorted(maps.Keys(s.Args)) {
		set(list, name, func(string) string { return s.Args[name] })
	}
}

// set replaces the value of an argument, or adds it.
func set(list *yaml.Node, name string, value func(old string) string) {
	for _, item := range list.Content {
		key, old, _ := strings.Cut(strings.TrimLeft(item.Value, "-"), "=")
		if key == name {
			item.Value = "--" + name + "=" + value(old)
			return
		}
	}
	list.Content = append(list.Content, yaml.NewScalarRNode("--"+name+"="+value("")).YNode())
}

// mergeGates puts gates into a list like "A=true,B=${EXP_B:=false}".
func mergeGates(old string, gates map[string]bool) string {
	var list []string
	seen := map[string]bool{}
	for _, gate := range strings.Split(old, ",") {
		name, _, _ := strings.Cut(gate, "=")
		if on, given := gates[name]; given {
			gate, seen[name] = name+"="+strconv.FormatBool(on), true
		}
		if gate != "" {
			list = append(list, gate)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		if !seen[name] {
			list = append(list, name+"="+strconv.FormatBool(gates[name]))
		}
	}
	return strings.Join(list, ",")
}
