package apitest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Works gives an object the status that its controller would: it is available, established, or
// has an address. The pods of a Deployment are made beside it, which is more.
func Works(o *unstructured.Unstructured) (more []*unstructured.Unstructured) {
	switch o.GetKind() {
	case "Deployment":
		wanted, given, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "replicas")
		if !given {
			wanted = int64(1)
		}
		o.Object["status"] = map[string]any{"observedGeneration": o.GetGeneration(), "replicas": wanted, "updatedReplicas": wanted, "readyReplicas": wanted,
			"availableReplicas": wanted, "conditions": is("Available")}
		labels, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "template", "metadata", "labels")
		for i := range wanted.(int64) {
			more = append(more, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod",
				"metadata": map[string]any{"namespace": o.GetNamespace(), "name": fmt.Sprintf("%s-%d", o.GetName(), i), "labels": labels},
				"status":   map[string]any{"phase": "Running", "conditions": is("Ready")}}})
		}
	case "CustomResourceDefinition":
		o.Object["status"] = map[string]any{"conditions": append(is("NamesAccepted"), is("Established")...), "storedVersions": stored(o)}
	case "SelfSubjectAccessReview":
		o.Object["status"] = map[string]any{"allowed": true}
	case "Service":
		if kind, _, _ := unstructured.NestedString(o.Object, "spec", "type"); kind == "LoadBalancer" {
			o.Object["status"] = map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": "192.0.2.10"}}}}
		}
	}
	return more
}

// stored are the versions that a definition stores objects in.
func stored(definition *unstructured.Unstructured) (names []any) {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, one := range versions {
		if version, _ := one.(map[string]any); version["storage"] == true {
			names = append(names, version["name"])
		}
	}
	return names
}

func is(condition string) []any {
	return []any{map[string]any{"type": condition, "status": "True"}}
}

func uid(n int) types.UID { return types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", n)) }
