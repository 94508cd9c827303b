package api

import (
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// findCluster finds a cluster by uuid or name among those of the caller's project, or of all
// projects if everywhere holds.
func (c *call) findCluster(ident string, everywhere bool) (*inventory.View, error) {
	look := func() []*inventory.View {
		return slices.DeleteFunc(slices.Clone(c.s.o.Inventory.FindClusters(canonical(ident), ident)), func(v *inventory.View) bool {
			return !everywhere && v.Cluster.Spec.ProjectID != c.caller.ProjectID
		})
	}
	found, err := foundOrNew(c, ident, &v1alpha1.ClusterList{}, look)
	if err != nil {
		return nil, err
	}
	switch len(found) {
	case 0:
		return nil, notFound("Cluster %s could not be found.", ident)
	case 1:
		c.object = "cluster " + found[0].Cluster.UUID()
		return found[0], nil
	}
	return nil, conflict("Multiple clusters exist with the name %s: use the UUID.", ident)
}

// target is the policy target of a cluster: its owner.
func target(v *inventory.View) policy.Target {
	return policy.Target{ProjectID: v.Cluster.Spec.ProjectID, UserID: v.Cluster.Spec.UserID}
}

// cluster finds a cluster and checks whether rule allows the caller. Callers who may act everywhere
// find the clusters of all projects.
func (c *call) cluster(ident, rule string, everywhere bool) (*inventory.View, error) {
	v, err := c.findCluster(ident, everywhere)
	if err != nil {
		return nil, err
	}
	if err := c.allow(rule, target(v)); err != nil {
		return nil, err
	}
	return v, c.unheld(v.Cluster)
}

// unheld refuses changes of what somebody else manages. Certificates are signed all the same: that
// changes nothing.
func (c *call) unheld(o metav1.Object) error {
	if c.r.Method == http.MethodGet {
		return nil
	}
	switch v1alpha1.Held(o) {
	case "":
		return nil
	case v1alpha1.HeldByMagnum:
		return conflict("It is still managed by OpenStack's Magnum and can only be read here: it is not adopted, or was handed back.")
	case v1alpha1.HeldByHandBack:
		return conflict("It is being handed back to OpenStack's Magnum and can only be read here: change it there.")
	case v1alpha1.HeldByHeat:
		return conflict("It was made by Magnum's Heat driver and can only be read here: an operator changes or deletes it in Heat.")
	}
	return conflict("It was made by another driver of Magnum and can only be read here: an operator changes or deletes it on its management cluster.")
}

// findGroup finds a node group of a cluster by uuid or name.
func findGroup(v *inventory.View, ident string) (*v1alpha1.NodeGroup, error) {
	i := slices.IndexFunc(v.Groups, func(g *v1alpha1.NodeGroup) bool { return is(g, ident) })
	if i < 0 {
		return nil, notFound("Nodegroup %s could not be found.", ident)
	}
	return v.Groups[i], nil
}

// visible reports whether the caller sees a template. Hidden ones are for administrators.
func (c *call) visible(t *v1alpha1.ClusterTemplate, everywhere bool) bool {
	return everywhere || t.Spec.ProjectID == c.caller.ProjectID || t.Spec.Public && (c.admin || !t.Spec.Hidden)
}

// findTemplate finds a template by uuid or name among those the caller sees.
func (c *call) findTemplate(ident string, everywhere bool) (*v1alpha1.ClusterTemplate, error) {
	look := func() []*v1alpha1.ClusterTemplate {
		return slices.DeleteFunc(slices.Clone(c.s.o.Inventory.FindTemplates(canonical(ident), ident)), func(t *v1alpha1.ClusterTemplate) bool {
			return !c.visible(t, everywhere)
		})
	}
	found, err := foundOrNew(c, ident, &v1alpha1.ClusterTemplateList{}, look)
	if err != nil {
		return nil, err
	}
	switch len(found) {
	case 0:
		return nil, notFound("ClusterTemplate %s could not be found.", ident)
	case 1:
		return found[0], nil
	}
	return nil, conflict("Multiple ClusterTemplates exist with the name %s: use the UUID.", ident)
}

// readTemplate finds a template for reading. The template of a cluster of the caller's project is
// found by its uuid even if it has since been hidden: clients read it to write a kubeconfig.
func (c *call) readTemplate(ident string) (*v1alpha1.ClusterTemplate, error) {
	t, err := c.findTemplate(ident, c.everywhere("clustertemplate:get_one_all_projects"))
	id := canonical(ident)
	if err == nil || id == "" {
		return t, err
	}
	of := func(v *inventory.View) bool { return templateID(v.Cluster) == id }
	if found := c.s.o.Inventory.FindTemplates(id, id); len(found) == 1 && found[0].Spec.Public && slices.ContainsFunc(c.s.o.Inventory.Clusters(c.caller.ProjectID), of) {
		return found[0], nil
	}
	return nil, err
}

// templateTarget is the policy target of a template: its owner. Reading a public one needs no match
// of projects.
func (c *call) templateTarget(t *v1alpha1.ClusterTemplate, reading bool) policy.Target {
	if reading && t.Spec.Public {
		return c.mine()
	}
	return policy.Target{ProjectID: t.Spec.ProjectID, UserID: t.Spec.UserID}
}
