package clusterctl

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// setVariables sets variables of every container of the Deployments among objects (S-57). The
// components of providers have no setting for them.
func setVariables(objects []*unstructured.Unstructured, variables map[string]string) error {
	if len(variables) == 0 {
		return nil
	}
	return eachContainer(objects, func(_ *unstructured.Unstructured, container map[string]any) error {
		container["env"] = withVariables(container["env"], variables)
		return nil
	})
}

// withVariables returns a container's list of variables with more of them; those of the same name
// are replaced.
func withVariables(list any, variables map[string]string) []any {
	old, _ := list.([]any)
	all := slices.DeleteFunc(slices.Clone(old), func(entry any) bool {
		variable, _ := entry.(map[string]any)
		name, _ := variable["name"].(string)
		_, given := variables[name]
		return given
	})
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		all = append(all, map[string]any{"name": name, "value": variables[name]})
	}
	return all
}
