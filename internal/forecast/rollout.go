package forecast

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The kinds whose machines Cluster API replaces when their template changes.
const (
	kindControlPlane = "KubeadmControlPlane"
	kindDeployment   = "MachineDeployment"
)

// ControlPlane is the name of the control plane's group.
const ControlPlane = "control plane"

// Rollout compares the objects of a cluster before and after a change and returns its
// groups with how many machines Cluster API replaces. there is how many a group has, by
// name; without an entry it is what the objects want.
func Rollout(cluster string, before, after []*unstructured.Unstructured, there map[string]int) []Group {
	was := map[string]*unstructured.Unstructured{}
	for _, o := range before {
		was[o.GetKind()+"/"+o.GetName()] = o
	}
	var groups []Group
	for _, o := range after {
		if o.GetKind() != kindControlPlane && o.GetKind() != kindDeployment {
			continue
		}
		g := Group{Name: groupName(cluster, o)}
		old := was[o.GetKind()+"/"+o.GetName()]
		g.Machines = replicas(old)
		if n, known := there[g.Name]; known {
			g.Machines = n
		}
		if old != nil {
			if g.Reason = differs(old, o); g.Reason != "" {
				g.Replaced = g.Machines
			}
		}
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(rank(a.Name), rank(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	return groups
}

func rank(name string) int {
	if name == ControlPlane {
		return 0
	}
	return 1
}

// groupName is how the environment file names a group.
func groupName(cluster string, o *unstructured.Unstructured) string {
	if o.GetKind() == kindControlPlane {
		return ControlPlane
	}
	return strings.TrimPrefix(o.GetName(), cluster+"-")
}

func replicas(o *unstructured.Unstructured) int {
	if o == nil {
		return 0
	}
	for _, value := range []any{field(o, "spec", "replicas")} {
		switch n := value.(type) {
		case int64:
			return int(n)
		case float64:
			return int(n)
		}
	}
	return 1
}

func field(o *unstructured.Unstructured, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	return value
}

// differs is why the machines of a control plane or a node group are replaced; "" if they
// stay. Cluster API compares the version, the template of the machine by its name, and what
// the machine boots with.
func differs(was, is *unstructured.Unstructured) string {
	var why []string
	changed := func(what string, paths ...[]string) {
		for _, path := range paths {
			a, b := field(was, path...), field(is, path...)
			if reflect.DeepEqual(a, b) {
				continue
			}
			if a, ok := a.(string); ok && what == "Kubernetes" {
				what = fmt.Sprintf("Kubernetes %s → %v", a, b)
			}
			why = append(why, what)
			return
		}
	}
	if is.GetKind() == kindControlPlane {
		changed("Kubernetes", []string{"spec", "version"})
		changed("another image, flavor or volume", []string{"spec", "machineTemplate", "spec", "infrastructureRef", "name"}, []string{"spec", "machineTemplate", "infrastructureRef", "name"})
		changed("another configuration of the node", []string{"spec", "kubeadmConfigSpec"})
	} else {
		changed("Kubernetes", []string{"spec", "template", "spec", "version"})
		changed("another image, flavor or volume", []string{"spec", "template", "spec", "infrastructureRef", "name"})
		changed("another configuration of the node", []string{"spec", "template", "spec", "bootstrap", "configRef", "name"})
		changed("another failure domain", []string{"spec", "template", "spec", "failureDomain"})
	}
	return strings.Join(why, ", ")
}
