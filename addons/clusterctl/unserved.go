package clusterctl

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// dropUnserved removes from definitions the versions that they neither serve nor store. Nobody can
// use them, but an API server keeps a cache of the objects in each of them, which it fills through
// the conversion webhook: in Cluster API's definitions, that is every second version
// (kubernetes/kubernetes, apiextensions-apiserver's crdHandler). A cluster with objects that are
// stored in such a version gets a refusal from [Migrate].
func dropUnserved(objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if object.GetKind() != definitionKind {
			continue
		}
		versions, _, err := unstructured.NestedSlice(object.Object, "spec", "versions")
		if err != nil {
			return fmt.Errorf("definition %s: %w", object.GetName(), err)
		}
		var used []any
		for _, version := range versions {
			if one, ok := version.(map[string]any); !ok || one["served"] != false || one["storage"] != false {
				used = append(used, version)
			}
		}
		if err := unstructured.SetNestedSlice(object.Object, used, "spec", "versions"); err != nil {
			return fmt.Errorf("definition %s: %w", object.GetName(), err)
		}
	}
	return nil
}
