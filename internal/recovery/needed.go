package recovery

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// needed are the objects of others without which one cluster cannot live: the
// OpenStackClusterIdentity by which it logs in, with the Secret of that, and the public
// template of another project, each with its namespace, which comes first. Other objects that a
// tenant may name in other namespaces are not among them. here are those of the cluster itself.
func needed(objects []*unstructured.Unstructured, here map[types.UID]*unstructured.Unstructured) (all []*unstructured.Unstructured) {
	named := map[Reference]bool{}
	for _, o := range here {
		for _, r := range References(o) {
			if r.Kind == kindIdentity || r.Group == groupMagnum && r.Kind == kindTemplate {
				named[r] = true
			}
		}
	}
	for _, o := range objects {
		if is(o, groupOpenStack, kindIdentity) && named[selfReference(o)] {
			named[secretReference(o)] = true
		}
	}
	places := map[string]bool{}
	for _, o := range objects {
		if named[selfReference(o)] && here[o.GetUID()] == nil {
			all, places[o.GetNamespace()] = append(all, o.DeepCopy()), true
		}
	}
	for _, o := range objects {
		if is(o, "", kindNamespace) && places[o.GetName()] && here[o.GetUID()] == nil {
			all = slices.Insert(all, 0, o.DeepCopy())
		}
	}
	return all
}

// Bring makes what of Needed is not among the live objects a part of the plan that comes before
// all others.
func (p *Plan) Bring(live []*unstructured.Unstructured) {
	there := map[Reference]bool{}
	for _, o := range live {
		there[selfReference(o)] = true
	}
	var first [][]*unstructured.Unstructured
	for _, o := range p.Needed {
		if !there[selfReference(o)] {
			first = append(first, []*unstructured.Unstructured{o})
		}
	}
	p.Steps = slices.Concat(first, p.Steps)
}
