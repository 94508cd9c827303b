package undo

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/recovery"
)

const (
	kindClusterRole        = "ClusterRole"
	kindClusterRoleBinding = "ClusterRoleBinding"
	// veleroDefinitions ends the names of Velero's definitions.
	veleroDefinitions = ".velero.io"
)

// ofAddons are the keys of cluster-wide objects that belong to what runs outside of the
// namespaces of controllers, as Velero and the monitoring. An undo leaves their workloads and
// what the state knows of them as they are, so that it must leave these too: the next up would
// see no change, and not bring them back. All lists are looked at together: a role is left
// behind where its binding is gone.
func ofAddons(lists ...Applied) map[string]bool {
	found, roles := map[string]bool{}, map[string]bool{}
	for _, o := range slices.Concat(lists...) {
		switch {
		case o.GetKind() == kindDefinition && strings.HasSuffix(o.GetName(), veleroDefinitions):
			found[key(o)] = true
		case o.GetKind() == kindClusterRoleBinding && elsewhereOnly(o):
			role, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
			found[key(o)], roles[role] = true, true
		}
	}
	for _, o := range slices.Concat(lists...) {
		if o.GetKind() == kindClusterRole && roles[o.GetName()] {
			found[key(o)] = true
		}
	}
	return found
}

// elsewhereOnly reports whether a binding gives rights to service accounts outside of the
// namespaces of controllers, and to nobody else.
func elsewhereOnly(binding *unstructured.Unstructured) bool {
	subjects, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
	for _, one := range subjects {
		subject, _ := one.(map[string]any)
		namespace, _ := subject["namespace"].(string)
		if subject["kind"] != "ServiceAccount" || slices.Contains(recovery.ControllerNamespaces(), namespace) {
			return false
		}
	}
	return len(subjects) > 0
}

// without are the objects whose keys are not among these.
func (a Applied) without(keys map[string]bool) Applied {
	return slices.DeleteFunc(slices.Clone(a), func(o *unstructured.Unstructured) bool { return keys[key(o)] })
}
