package clusterctl

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// eachContainer calls change with each container of the Deployments among objects, and keeps what
// it changed. Errors name the Deployment.
func eachContainer(objects []*unstructured.Unstructured, change func(deployment *unstructured.Unstructured, container map[string]any) error) error {
	path := []string{"spec", "template", "spec", "containers"}
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		containers, there, err := unstructured.NestedSlice(object.Object, path...)
		for i := 0; i < len(containers) && err == nil; i++ {
			if container, ok := containers[i].(map[string]any); ok {
				err = change(object, container)
			}
		}
		if err == nil && there {
			err = unstructured.SetNestedSlice(object.Object, containers, path...)
		}
		if err != nil {
			return fmt.Errorf("containers of Deployment %s: %w", object.GetName(), err)
		}
	}
	return nil
}
