package clusterctl

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// setVariables sets variables of every container of the Deployments among
// objects (S-57). Providers' components have no setting for them.
func setVariables(objects []*unstructured.Unstructured, variables map[string]string) error {
	if len(variables) == 0 {
		return nil
	}
	path := []string{"spec", "template", "spec", "containers"}
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		containers, _, err := unstructured.NestedSlice(object.Object, path...)
		if err != nil {
			return err
		}
		for _, container := range containers {
			if container, ok := container.(map[string]any); ok {
				container["env"] = withVariables(container["env"], variables)
			}
		}
		if err := unstructured.SetNestedSlice(object.Object, containers, path...); err != nil {
			return err
		}
	}
	return nil
}

// withVariables is a container's list of variables with more of them; those of
// the same name are replaced.
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
