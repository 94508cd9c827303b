package takeover

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func join(words []string) string { return strings.Join(words, ", ") }

// pausedAnnotation is Cluster API's.
const pausedAnnotation = "cluster.x-k8s.io/paused"

// machinery are the kinds of Cluster API that a takeover must not change, in the versions
// that are known.
func machinery() []schema.GroupVersionKind {
	core := schema.GroupVersion{Group: "cluster.x-k8s.io", Version: "v1beta2"}
	cloud := schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1"}
	return []schema.GroupVersionKind{core.WithKind("Cluster"), core.WithKind("Machine"), core.WithKind("MachineSet"), core.WithKind("MachineDeployment"),
		{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Kind: "KubeadmControlPlane"}, cloud.WithKind("OpenStackCluster"), cloud.WithKind("OpenStackMachine")}
}

// clusterAPI counts the objects of Cluster API and refuses what is paused or being deleted.
// It returns false where Cluster API, or a version of it that is known, is not there.
func (c *Cluster) clusterAPI(ctx context.Context) (bool, error) {
	known := true
	for _, kind := range machinery() {
		served, err := c.serves(kind)
		if err != nil {
			return false, err
		}
		if !served {
			known = false
			c.problem(strings.ToLower(kind.Kind)+"s."+kind.Group, "use the kubeconfig of the cluster that Cluster API runs on, with Cluster API 1.11 and CAPO 0.11 or later: older ones must be upgraded first",
				"version %s is not served", kind.Version)
		}
	}
	if !known {
		return false, nil
	}
	for _, kind := range machinery() {
		all, err := c.all(ctx, kind)
		if err != nil {
			return false, err
		}
		c.Untouched[kind.Kind] = len(all)
		for i := range all {
			c.still(&all[i])
		}
		if kind.Kind == "Cluster" {
			c.clusters = all
		}
	}
	return true, nil
}

// serves reports whether a kind is served in a version.
func (c *Cluster) serves(kind schema.GroupVersionKind) (bool, error) {
	there, err := c.site.Kube.Exists(kind.Group, kind.Kind)
	if err != nil || !there {
		return false, err
	}
	_, err = c.site.Kube.Everywhere(kind)
	return err == nil, nil
}

// still refuses an object that is paused, or that the janitor is at work for. Once a takeover
// has begun it must go on in spite of them: a cluster that is deleted meanwhile waits for it.
func (c *Cluster) still(o *unstructured.Unstructured) {
	if c.State != New {
		return
	}
	paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
	_, annotated := o.GetAnnotations()[pausedAnnotation]
	if paused || annotated {
		what := "spec.paused is set"
		if annotated {
			what = "it has the annotation " + pausedAnnotation
		}
		c.problem(describe(o), "find out who paused it, and why, and remove that; a playbook that stopped half-way leaves Clusters paused", "it is paused: %s", what)
	}
	if o.GetDeletionTimestamp() != nil {
		c.problem(describe(o), "wait until it is gone, then run the same command again", "it is being deleted")
	}
}

// mark is what of an object must not change.
type mark struct {
	object     string
	generation int64
}

// marks are those of all objects of Cluster API, by UID.
func (c *Cluster) marks(ctx context.Context) (map[string]mark, error) {
	marks := map[string]mark{}
	for _, kind := range machinery() {
		all, err := c.all(ctx, kind)
		if err != nil {
			return nil, err
		}
		for i := range all {
			marks[string(all[i].GetUID())] = mark{describe(&all[i]), all[i].GetGeneration()}
		}
	}
	return marks, nil
}

// moved are the objects that changed, or went, since they were marked. What is new belongs
// to somebody else: a takeover makes nothing of Cluster API.
func moved(before, after map[string]mark) []string {
	var all []string
	for uid, was := range before {
		is, there := after[uid]
		switch {
		case !there:
			all = append(all, was.object+" is gone")
		case is.generation != was.generation:
			all = append(all, was.object+" was changed")
		}
	}
	slices.Sort(all)
	return all
}
