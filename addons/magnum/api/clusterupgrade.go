package api

import (
	"cmp"

	"github.com/slipway-sh/slipway/addons/magnum/inventory"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
	"github.com/slipway-sh/slipway/internal/kubeversion"
)

func upgradeAttributes() []attribute {
	return []attribute{{name: "cluster_template", kind: reference, min: 1, max: 255, mandatory: true}, {name: "max_batch_size", kind: integer, min: 1}, name255("nodegroup")}
}

// upgradeCluster answers POST /clusters/{ident}/actions/upgrade.
func upgradeCluster(c *call) error {
	if c.version < 8 {
		return badRequest("Upgrades need version 1.8.")
	}
	d, err := c.decode(upgradeAttributes())
	if err != nil {
		return err
	}
	v, err := c.cluster(c.ident("ident"), "cluster:upgrade", c.everywhere("cluster:upgrade_all_projects"))
	if err != nil {
		return err
	}
	t, err := c.readTemplate(d.text("cluster_template"))
	if err != nil {
		return err
	}
	var g *v1alpha1.NodeGroup
	if d.given("nodegroup") {
		if g, err = c.findGroup(v, d.text("nodegroup")); err != nil {
			return err
		}
	}
	if g != nil && !g.Spec.IsDefault && t.UUID() != templateID(v.Cluster) {
		return conflict("Nodegroup %s can be upgraded only to the cluster's own template: upgrade the default nodegroups first.", g.Title())
	}
	if err := accepts(v.Phase(), "upgrade", false); err != nil {
		return err
	}
	if g != nil && !g.Spec.IsDefault {
		err = c.upgradeGroup(v, g)
	} else {
		err = c.upgradeTo(v, t, int32(d.number("max_batch_size", 0)))
	}
	if err != nil {
		return err
	}
	return c.accepted(v.Cluster.UUID())
}

// upgradeGroup upgrades a group with its own image to the cluster's.
func (c *call) upgradeGroup(v *inventory.View, g *v1alpha1.NodeGroup) error {
	_, err := update(c, g, func(g *v1alpha1.NodeGroup) error {
		g.Spec.ImageID, g.Spec.Image = v.Cluster.Spec.Template.ImageID, nil
		return nil
	})
	return err
}

// upgradeTo moves a cluster to another template.
func (c *call) upgradeTo(v *inventory.View, t *v1alpha1.ClusterTemplate, batch int32) error {
	if err := groupNamesAllowed(v); err != nil {
		return err
	}
	image, err := c.nodeImage(t.Spec.ImageID, t.Spec.Labels)
	if err != nil {
		return err
	}
	if err := versionStep(presentVersion(v.Cluster), image.KubernetesVersion); err != nil {
		return err
	}
	if err := sameNetwork(v.Cluster.Spec.Template, t); err != nil {
		return err
	}
	if err := c.adoptCredential(v); err != nil {
		return err
	}
	from := v.Cluster.Spec.TemplateRef
	_, err = update(c, v.Cluster, func(cluster *v1alpha1.Cluster) error {
		if cluster.Spec.TemplateRef != from {
			return conflict("Somebody else upgrades the cluster at the same time.")
		}
		cluster.Spec.TemplateRef, cluster.Spec.Template = v1alpha1.TemplateRef{Namespace: t.Namespace, Name: t.Name}, snapshot(t)
		// Of what was resolved, only the image changes: a cluster keeps its networks, of which
		// CAPO refuses others. Where nothing was, the controllers look it up.
		if cluster.Spec.Resolved != nil {
			cluster.Spec.Resolved.Image = image
		}
		cluster.Spec.Upgrade = nil
		if batch > 0 {
			cluster.Spec.Upgrade = &v1alpha1.UpgradeOptions{MaxBatchSize: batch}
		}
		return nil
	})
	return err
}

// groupNamesAllowed refuses names that the chart of the upgrade would refuse half-way. Until the
// upgrade, the cluster keeps a chart that accepts the name.
func groupNamesAllowed(v *inventory.View) error {
	for _, g := range v.Groups {
		if g.DeletionTimestamp == nil && v1alpha1.ReservedGroup(g.Title()) {
			return conflict("The name of the nodegroup %s is reserved for the control plane: create a nodegroup of another name, delete this one, and upgrade then.", g.Title())
		}
	}
	return nil
}

// sameNetwork refuses a template with another network driver: pods would lose their network
// (S-40).
func sameNetwork(present *v1alpha1.TemplateSnapshot, t *v1alpha1.ClusterTemplate) error {
	if present == nil {
		return nil
	}
	const unsaid = "calico" // as the driver has it
	from, to := cmp.Or(present.NetworkDriver, unsaid), cmp.Or(t.Spec.NetworkDriver, unsaid)
	if from == to {
		return nil
	}
	return conflict("The cluster has the network driver %s and the cluster template %s. A running cluster keeps its network driver: choose a template with %s, or create another cluster.", from, to, from)
}

// presentVersion is the Kubernetes version of a cluster, "" when unknown.
func presentVersion(cluster *v1alpha1.Cluster) string {
	wanted := ""
	if cluster.Spec.Resolved != nil {
		wanted = cluster.Spec.Resolved.Image.KubernetesVersion
	}
	return cmp.Or(cluster.Status.COEVersion, wanted)
}

// versionStep refuses what Kubernetes does not support.
func versionStep(from, to string) error {
	if from == "" {
		return nil
	}
	if err := kubeversion.CheckUpgrade(from, to); err != nil {
		return conflict("The cluster cannot be upgraded: %s.", err)
	}
	return nil
}
