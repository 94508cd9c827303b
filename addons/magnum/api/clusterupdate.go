package api

import (
	"slices"

	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// accepts refuses an operation in a state that does not allow it. Unlike Magnum, it does so before
// the answer 202, and lets a cluster whose update or rollback failed be updated again. meanwhile
// also allows a cluster that is being updated.
func accepts(phase v1alpha1.Phase, what string, meanwhile bool) error {
	if phase.Complete() || phase == v1alpha1.UpdateFailed || phase == v1alpha1.RollbackFailed || meanwhile && phase == v1alpha1.UpdateInProgress {
		return nil
	}
	return badRequest("It is not possible to %s a cluster in status %s.", what, phase)
}

// busy is accepts with a conflict as its error, for operations that Magnum answers before it checks
// the state.
func busy(phase v1alpha1.Phase, what string, meanwhile bool) error {
	if err := accepts(phase, what, meanwhile); err != nil {
		return conflict("%s", err.Error())
	}
	return nil
}

// patchCluster answers PATCH /clusters/{ident}.
func patchCluster(c *call) error {
	if c.values.Has("rollback") && c.version < 3 {
		return badRequest("Unknown argument: rollback.")
	}
	rollback, err := c.boolParam("rollback")
	if err != nil {
		return err
	}
	operations, err := c.decodePatch()
	if err != nil {
		return err
	}
	v, err := c.cluster(c.ident("ident"), "cluster:update", c.everywhere("cluster:update_all_projects"))
	if err != nil {
		return err
	}
	if err := c.allow("cluster:update_health_status", policy.Target{ProjectID: v.Cluster.Spec.ProjectID, UserID: c.caller.UserID}); err != nil {
		return err
	}
	before := patchDocument(v)
	after, err := clusterPatch().apply(before, operations)
	if err != nil {
		return err
	}
	if err := c.changeCluster(v, after, differences(before, after), rollback); err != nil {
		return err
	}
	return c.accepted(v.Cluster.UUID())
}

// patchDocument is what a patch applies to: counts are those of the default groups, which PATCH
// resizes.
func patchDocument(v *inventory.View) document {
	d := fullForm(v)
	if labels, ok := d["health_status_reason"].(map[string]string); !ok || len(labels) == 0 {
		d["health_status_reason"] = nil
	}
	for name, master := range map[string]bool{"master_count": true, "node_count": false} {
		if g := v.Default(master); g != nil {
			d[name] = int64(g.Spec.NodeCount)
		}
	}
	return d
}

func (c *call) changeCluster(v *inventory.View, after document, changed []string, rollback bool) error {
	health := slices.DeleteFunc(slices.Clone(changed), func(name string) bool { return name != "health_status" && name != "health_status_reason" })
	rest := slices.DeleteFunc(slices.Clone(changed), func(name string) bool { return slices.Contains(health, name) })
	for _, name := range rest {
		if !slices.Contains([]string{"node_count", "master_count", "name", "labels"}, name) {
			return badRequest("The property %s of a cluster cannot be changed.", name)
		}
	}
	if len(rest) > 0 {
		if err := c.changeSpec(v, after, rest, rollback); err != nil {
			return err
		}
	}
	if len(health) == 0 {
		return nil
	}
	_, err := updateStatus(c, v.Cluster, func(cluster *v1alpha1.Cluster) error {
		cluster.Status.HealthStatus = v1alpha1.HealthStatus(after.text("health_status"))
		cluster.Status.HealthStatusReason = after.labels("health_status_reason")
		return nil
	})
	return err
}

func (c *call) changeSpec(v *inventory.View, after document, changed []string, rollback bool) error {
	if err := busy(v.Phase(), "update", false); err != nil {
		return err
	}
	if slices.Contains(changed, "node_count") {
		if err := c.flavors(c.s.o.Rules.bootVolume(v.Cluster.EffectiveLabels()), v.Cluster.Spec.FlavorID); err != nil {
			return err
		}
	}
	for name, master := range map[string]bool{"master_count": true, "node_count": false} {
		if err := checkCount(v.Default(master), int32(after.number(name, 1))); slices.Contains(changed, name) && err != nil {
			return err
		}
	}
	if err := c.adoptCredential(v); err != nil {
		return err
	}
	if slices.Contains(changed, "labels") {
		// First, because a patch that is sent again after the cluster has its labels changes nothing.
		if err := c.followLabels(v); err != nil {
			return err
		}
	}
	_, err := update(c, v.Cluster, func(cluster *v1alpha1.Cluster) error {
		if slices.Contains(changed, "name") {
			cluster.Spec.Name = after.text("name")
		}
		if slices.Contains(changed, "labels") {
			c.warnLabels(after.labels("labels"))
			cluster.Spec.Labels, cluster.Spec.MergeLabels = after.labels("labels"), false
			cluster.Spec.NoLabels = len(cluster.Spec.Labels) == 0
		}
		cluster.Spec.Rollback = rollback
		return nil
	})
	if err != nil {
		return err
	}
	for name, master := range map[string]bool{"master_count": true, "node_count": false} {
		if !slices.Contains(changed, name) {
			continue
		}
		if err := c.resize(v.Default(master), int32(after.number(name, 1)), nil); err != nil {
			return err
		}
	}
	return nil
}

// followLabels removes from the default groups their copies of the cluster's labels, which earlier
// releases and Magnum made: groups without labels have the cluster's present labels.
func (c *call) followLabels(v *inventory.View) error {
	for _, g := range v.Groups {
		if !g.Spec.IsDefault || g.Spec.MergeLabels || g.ResourceVersion == "" {
			continue
		}
		_, err := update(c, g, func(g *v1alpha1.NodeGroup) error {
			g.Spec.Labels = nil
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkCount refuses sizes that a group cannot have.
func checkCount(g *v1alpha1.NodeGroup, count int32) error {
	switch {
	case g == nil:
		return conflict("The cluster has no such nodegroup yet. Try again.")
	case inventory.Master(g) && count%2 == 0:
		return badRequest("A master nodegroup must have an odd number of nodes, so that a majority is left when one fails.")
	case count < g.Spec.MinNodeCount:
		return badRequest("Resizing %s outside the allowed range: min_node_count = %d.", g.Title(), g.Spec.MinNodeCount)
	case g.Spec.MaxNodeCount != nil && *g.Spec.MaxNodeCount > 0 && count > *g.Spec.MaxNodeCount:
		return badRequest("Resizing %s outside the allowed range: max_node_count = %d.", g.Title(), *g.Spec.MaxNodeCount)
	}
	return nil
}

func (c *call) resize(g *v1alpha1.NodeGroup, count int32, remove []string) error {
	_, err := update(c, g, func(g *v1alpha1.NodeGroup) error {
		if err := checkCount(g, count); err != nil {
			return err
		}
		g.Spec.NodeCount, g.Spec.NodesToRemove = count, remove
		return nil
	})
	return err
}

func resizeAttributes() []attribute {
	return []attribute{{name: "node_count", kind: integer, mandatory: true}, {name: "nodes_to_remove", kind: stringList}, name255("nodegroup")}
}

// resizeCluster answers POST /clusters/{ident}/actions/resize.
func resizeCluster(c *call) error {
	d, err := c.decode(resizeAttributes())
	if err != nil {
		return err
	}
	v, err := c.cluster(c.ident("ident"), "cluster:resize", c.admin)
	if err != nil {
		return err
	}
	g := v.Default(false)
	if d.given("nodegroup") {
		if g, err = c.findGroup(v, d.text("nodegroup")); err != nil {
			return err
		}
	}
	count := int32(d.number("node_count", 0))
	if err := checkCount(g, count); err != nil {
		return err
	}
	if err := busy(v.Phase(), "resize", true); err != nil {
		return err
	}
	if g.ResourceVersion == "" || g.DeletionTimestamp != nil { // a default group is made again, in its first size
		return conflict("It is not possible to resize the nodegroup %s in status %s.", g.Title(), g.EffectivePhase(v.Cluster))
	}
	if err := c.adoptCredential(v); err != nil {
		return err
	}
	remove, _ := d["nodes_to_remove"].([]string)
	if err := c.resize(g, count, remove); err != nil {
		return err
	}
	return c.accepted(v.Cluster.UUID())
}
