package adopt

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// labelOwned is on what Cluster API makes of a topology.
const labelOwned = "topology.cluster.x-k8s.io/owned"

// topology judges a cluster of a ClusterClass: all of it must be there, and be made of it.
// SCS' migrate-to-cluster-class.sh, stopped half-way, leaves a Cluster with a topology and
// objects without.
func (s Site) topology(ctx context.Context, c *Cluster, class string) error {
	const whole = "complete the migration to the ClusterClass, or restore the cluster's objects; nothing is converted here"
	namespace := c.Namespace
	if other := text(c.seen.cluster, "spec", "topology", "classRef", "namespace"); other != "" {
		namespace = other
	}
	o, err := s.get(ctx, clusterKind.WithKind("ClusterClass"), namespace, class)
	if err != nil {
		return err
	}
	if o == nil {
		c.problem("its ClusterClass "+namespace+"/"+class+" is missing", whole)
		return nil
	}
	if err := s.classTemplates(ctx, c, o, whole); err != nil {
		return err
	}
	all := []*unstructured.Unstructured{c.seen.plane}
	for _, name := range sortedKeys(c.seen.deployments) {
		all = append(all, c.seen.deployments[name])
	}
	for _, one := range all {
		if _, owned := one.GetLabels()[labelOwned]; !owned {
			c.roll(replicas(one), nameOf(one)+" is not of its topology: it was converted half-way, or made by hand", whole)
		}
	}
	return nil
}

// classTemplates refuses a class whose templates are not there.
func (s Site) classTemplates(ctx context.Context, c *Cluster, class *unstructured.Unstructured, remedy string) error {
	references := []any{part(class, "spec", "infrastructure", "templateRef"), part(class, "spec", "controlPlane", "templateRef"),
		part(class, "spec", "controlPlane", "machineInfrastructure", "templateRef")}
	workers, _, _ := unstructured.NestedSlice(class.Object, "spec", "workers", "machineDeployments")
	for _, one := range workers {
		for _, path := range []string{"bootstrap", "infrastructure"} {
			reference, _ := at(one, []string{path, "templateRef"})
			references = append(references, reference)
		}
	}
	for _, one := range references {
		reference, ok := one.(map[string]any)
		if !ok {
			continue
		}
		kind := schema.FromAPIVersionAndKind(fmt.Sprint(reference["apiVersion"]), fmt.Sprint(reference["kind"]))
		name := fmt.Sprint(reference["name"])
		template, err := s.get(ctx, kind, class.GetNamespace(), name)
		if err != nil {
			return err
		}
		if template == nil {
			c.problem(fmt.Sprintf("%s %s of its ClusterClass is missing, or not served as %s any more", kind.Kind, name, kind.GroupVersion()), remedy)
		}
	}
	return nil
}
