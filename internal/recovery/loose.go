package recovery

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Loose are the objects of a plan that a restore holds and that are of none of its Clusters,
// such as a ClusterResourceSet, which is of all that it selects. Those in the namespace of a
// cluster that is left paused ("namespace/name") are not among them: a set would be applied to
// that cluster too.
func (p *Plan) Loose(left []string) (all []*unstructured.Unstructured) {
	clusters, beside := p.Clusters(), map[string]bool{}
	for _, name := range left {
		namespace, _, _ := strings.Cut(name, "/")
		beside[namespace] = true
	}
	for _, step := range p.Steps {
		for _, o := range step {
			if !beside[o.GetNamespace()] && Hold(o.DeepCopy()) && !slices.Contains(clusters, clusterOf(o)) {
				all = append(all, o)
			}
		}
	}
	return all
}

// WithoutReleased is the plan without the loose objects that a former run has released: they
// are at work, and no proof is about them any more.
func (p *Plan) WithoutReleased(live []*unstructured.Unstructured) *Plan {
	now := map[Reference]*unstructured.Unstructured{}
	for _, o := range live {
		now[selfReference(o)] = o
	}
	free := map[types.UID]bool{}
	for _, o := range p.Loose(nil) {
		if there := now[selfReference(o)]; there != nil && Same(there, o.GetUID()) && !Held(there) {
			free[o.GetUID()] = true
		}
	}
	rest := *p
	rest.Steps = nil
	for _, step := range p.Steps {
		if kept := slices.DeleteFunc(slices.Clone(step), func(o *unstructured.Unstructured) bool { return free[o.GetUID()] }); len(kept) > 0 {
			rest.Steps = append(rest.Steps, kept)
		}
	}
	return &rest
}
