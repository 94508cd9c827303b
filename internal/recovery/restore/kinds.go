package restore

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/recovery"
)

// subresources says which of a plan's kinds have a status, and whether it is a
// subresource.
type subresources map[schema.GroupVersionKind]bool

// has reports whether an object has a status that must be restored. Those of
// built-in kinds are made anew by Kubernetes.
func (s subresources) has(o *unstructured.Unstructured) bool {
	kind := o.GroupVersionKind()
	_, there := o.Object["status"].(map[string]any)
	return there && strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".authorization.k8s.io")
}

func (s subresources) subresource(o *unstructured.Unstructured) bool { return s[o.GroupVersionKind()] }

// kinds looks up every kind of a plan. All that are not served are told at once.
func (r Restorer) kinds(plan *recovery.Plan) (subresources, error) {
	found := subresources{}
	versions := map[string]map[string]bool{} // by group version, the names of its resources
	var missing []error
	lost := map[schema.GroupVersionKind]bool{}
	for _, step := range plan.Steps {
		for _, o := range step {
			kind := o.GroupVersionKind()
			if _, known := found[kind]; known || lost[kind] {
				continue
			}
			names, err := r.names(versions, kind)
			if err != nil {
				return nil, err
			}
			if !names["kind "+kind.Kind] {
				lost[kind] = true
				missing = append(missing, fault.New(recovery.Describe(o), fmt.Errorf("the management cluster does not serve %s of %s", kind.Kind, kind.GroupVersion()),
					"use the Slipway version of the backup, whose controllers define it; nothing was restored"))
				continue
			}
			found[kind] = names["status "+kind.Kind]
		}
	}
	return found, errors.Join(missing...)
}

// names are the kinds of a version: "kind Machine", and "status Machine" if that has
// the subresource.
func (r Restorer) names(versions map[string]map[string]bool, kind schema.GroupVersionKind) (map[string]bool, error) {
	version := kind.GroupVersion().String()
	if names, known := versions[version]; known {
		return names, nil
	}
	names := map[string]bool{}
	versions[version] = names
	list, err := r.To.Typed.Discovery().ServerResourcesForGroupVersion(version)
	if kube.Absent(err) {
		return names, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the kinds of %s: %w", version, err)
	}
	for _, resource := range list.APIResources {
		switch {
		case !strings.Contains(resource.Name, "/"):
			names["kind "+resource.Kind] = true
		case strings.HasSuffix(resource.Name, "/status"):
			names["status "+resource.Kind] = true
		}
	}
	return names, nil
}
