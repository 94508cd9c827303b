package api

import (
	"cmp"
	"errors"
	"net/http"
	"regexp"
	"strconv"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// defaultTimeout is the create_timeout, in minutes, of clusters that set none.
const defaultTimeout = 60

// createCluster checks in Magnum's order, so that of several mistakes, clients get the error that
// they know.
func createCluster(c *call) error {
	d, err := c.decode(clusterAttributes())
	if err != nil {
		return err
	}
	if value, ok := d["labels"]; ok && value == nil {
		return badRequest("Invalid input for attribute labels: it must be an object.")
	}
	t, err := c.templateFor(d.text("cluster_template_id"))
	if err != nil {
		return err
	}
	cluster := c.newCluster(d, t)
	if err := c.s.o.Rules.cluster(cluster); err != nil {
		return err
	}
	if err := c.allow("cluster:create", c.mine()); err != nil {
		return err
	}
	giveBack, err := c.takePlace(cluster)
	if err != nil {
		return err
	}
	defer giveBack()
	if t.Spec.Hidden && !c.admin {
		return forbidden("The ClusterTemplate %s is hidden: only administrators can use it.", t.UUID())
	}
	if err := c.clusterNames(cluster); err != nil {
		return err
	}
	if cluster.Spec.MasterCount > 1 && !*cluster.Spec.MasterLBEnabled {
		return badRequest("master_count must be 1 when master_lb_enabled is False.")
	}
	c.warnLabels(cluster.Spec.Labels)
	if err := c.storeCluster(cluster); err != nil {
		return err
	}
	return c.accepted(cluster.UUID())
}

// templateFor finds the template of a new cluster; a missing template is 404 since 1.10 and 400
// before. Like Magnum, it looks in the caller's project and among public templates, for
// administrators too: names that tenants choose are thus not ambiguous for them.
func (c *call) templateFor(ident string) (*v1alpha1.ClusterTemplate, error) {
	t, err := c.findTemplate(ident, false)
	var answer *httpError
	if errors.As(err, &answer) && answer.status == http.StatusNotFound && c.version < 10 {
		return nil, badRequest("%s", answer.detail)
	}
	return t, err
}

// newCluster makes a cluster from the template, with what the request sets over it.
func (c *call) newCluster(d document, t *v1alpha1.ClusterTemplate) *v1alpha1.Cluster {
	name := fallback(d.text("name"), randomName("cluster"))
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace(c.caller.ProjectID), Name: objectName(name),
		Finalizers: []string{v1alpha1.FinalizerCluster}}}
	nodes, timeout := int32(d.number("node_count", 1)), int32(d.number("create_timeout", defaultTimeout))
	floating, balanced := d.flag("floating_ip_enabled", t.Spec.FloatingIPEnabled), d.flag("master_lb_enabled", t.Spec.MasterLBEnabled)
	cluster.Labels = map[string]string{v1alpha1.LabelProject: v1alpha1.LabelValue(c.caller.ProjectID)}
	cluster.Spec = v1alpha1.ClusterSpec{
		Identity:    v1alpha1.Identity{UUID: uuid.NewString(), Name: name, ProjectID: c.caller.ProjectID, UserID: c.caller.UserID},
		TemplateRef: v1alpha1.TemplateRef{Namespace: t.Namespace, Name: t.Name}, Template: snapshot(t),
		StackID: cluster.Name, Keypair: fallback(d.text("keypair"), t.Spec.KeypairID),
		MasterFlavorID: cmp.Or(d.text("master_flavor_id"), t.Spec.MasterFlavorID, d.text("flavor_id"), t.Spec.FlavorID), FlavorID: cmp.Or(d.text("flavor_id"), t.Spec.FlavorID),
		MasterCount: int32(d.number("master_count", 1)), NodeCount: &nodes, DockerVolumeSize: int32(d.number("docker_volume_size", int64(t.Spec.DockerVolumeSize))),
		Labels: chooseLabels(d.labels("labels"), t.Spec.Labels, d.flag("merge_labels", false)), MergeLabels: false,
		FixedNetwork: fallback(d.text("fixed_network"), t.Spec.FixedNetwork), FixedSubnet: fallback(d.text("fixed_subnet"), t.Spec.FixedSubnet),
		FloatingIPEnabled: &floating, MasterLBEnabled: &balanced, CreateTimeoutMinutes: &timeout,
	}
	return cluster
}

func snapshot(t *v1alpha1.ClusterTemplate) *v1alpha1.TemplateSnapshot {
	return &v1alpha1.TemplateSnapshot{UUID: t.UUID(), Name: t.Title(), TemplateValues: *t.Spec.TemplateValues.DeepCopy()}
}

// cluster checks those settings of a cluster that need nothing else.
func (r Rules) cluster(cluster *v1alpha1.Cluster) error {
	t := cluster.Spec.Template
	if t.ServerType == "bm" || t.COE != "kubernetes" {
		return badRequest("Clusters of server type %s and %s cannot be built here.", t.ServerType, t.COE)
	}
	if err := r.distro(t.ClusterDistro); err != nil {
		return err
	}
	if err := deviceMapper(t.DockerStorageDriver, int64(cluster.Spec.DockerVolumeSize)); err != nil {
		return err
	}
	if cluster.Spec.FlavorID == "" || cluster.Spec.MasterFlavorID == "" {
		return badRequest("The template has no flavor: set flavor_id and master_flavor_id of the cluster.")
	}
	if cluster.Spec.MasterCount%2 == 0 {
		return badRequest("master_count must be odd, so that a majority is left when one fails.")
	}
	return groupLabels(cluster.Spec.Labels, *cluster.Spec.NodeCount)
}

// groupLabels checks the labels that bound the default workers.
func groupLabels(labels map[string]string, nodes int32) error {
	least, err := strconv.ParseInt(labels["min_node_count"], 10, 32)
	if err == nil && least > int64(nodes) {
		return badRequest("The label min_node_count is %d, more than the %d nodes asked for.", least, nodes)
	}
	most, err := strconv.ParseInt(labels["max_node_count"], 10, 32)
	if err == nil && most > 0 && most < int64(nodes) {
		return badRequest("The label max_node_count is %d, less than the %d nodes asked for.", most, nodes)
	}
	return nil
}

// clusterNames looks up in the cloud what a cluster names, and keeps the ids. It does so in the
// order of the reference, which checks the key pair last.
func (c *call) clusterNames(cluster *v1alpha1.Cluster) error {
	spec, resolved := &cluster.Spec, &v1alpha1.ResolvedNames{}
	boot := c.s.o.Rules.bootVolume(spec.Labels)
	all := newChecks()
	all.add(func() error { return c.flavors(boot, spec.FlavorID, spec.MasterFlavorID) })
	all.add(func() (err error) {
		resolved.Image, err = c.nodeImage(spec.Template.ImageID, spec.Labels)
		return err
	})
	if network := spec.Template.ExternalNetworkID; network != "" {
		all.add(func() (err error) {
			resolved.ExternalNetworkID, err = c.s.o.Cloud.Network(c.ctx(), c.token, network, true)
			return looked(err, http.StatusBadRequest)
		})
	}
	all.add(func() (err error) {
		resolved.FixedNetworkID, resolved.FixedSubnetID, err = c.fixedNetwork(spec.FixedNetwork, spec.FixedSubnet)
		return err
	})
	if spec.Keypair != "" {
		all.add(func() error { return looked(c.s.o.Cloud.Keypair(c.ctx(), c.token, spec.Keypair), http.StatusNotFound) })
	}
	spec.Resolved = resolved
	return all.first()
}

// fullVersion matches a version as releases of Kubernetes have it.
var fullVersion = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// nodeImage looks up an image that machines are to have.
func (c *call) nodeImage(ref string, labels map[string]string) (v1alpha1.ResolvedImage, error) {
	image, err := c.s.o.Cloud.Image(c.ctx(), c.token, ref)
	if err != nil {
		return v1alpha1.ResolvedImage{}, looked(err, http.StatusBadRequest)
	}
	if err := c.s.o.Rules.image(ref, image, labels); err != nil {
		return v1alpha1.ResolvedImage{}, err
	}
	version := kubeVersion(image, labels)
	if !fullVersion.MatchString(version) {
		return v1alpha1.ResolvedImage{}, badRequest("The property kube_version of the image %s is %q, not a version such as v1.34.4.", ref, image.KubeVersion)
	}
	return v1alpha1.ResolvedImage{ID: image.ID, OSDistro: image.OSDistro, KubernetesVersion: version}, nil
}

// storeCluster creates the credential and then the cluster, which could not be built without one.
// The default groups follow from the cluster: the controllers write them, and until then the
// inventory shows what they will be. A cluster that was created after all keeps its credential.
func (c *call) storeCluster(cluster *v1alpha1.Cluster) error {
	c.object = "cluster " + cluster.UUID()
	undo, err := c.giveCredential(cluster)
	if err != nil {
		return err
	}
	return c.withoutClient(func() error {
		err := c.create(cluster, c.caller.ProjectID)
		if err == nil {
			return nil
		}
		there := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.Name}}
		stands, unknown := c.stands(there)
		switch {
		case unknown != nil:
			return err
		case stands && there.UUID() == cluster.UUID():
			c.s.see(c.ctx(), there, false)
			return nil
		}
		undo()
		return err
	})
}
