package moving

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// copies are the objects of a cluster as they are to be written. Owners and
// generations come with writing.
type copies struct {
	cluster *v1alpha1.Cluster
	groups  []*v1alpha1.NodeGroup
	secrets []*corev1.Secret
}

// defaultTimeout is Magnum's create_timeout, which the API server fills in too.
const defaultTimeout = 60

// meta is the metadata of a copy.
func copied(row database.Row, namespace, name, held string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{
		v1alpha1.AnnotationHeld: held, v1alpha1.AnnotationFormerID: strconv.FormatInt(row.ID, 10)}}
	if row.Created != nil {
		m.Annotations[v1alpha1.AnnotationFirstCreatedAt] = row.Created.Format(time.RFC3339)
	}
	if row.Updated != nil {
		m.Annotations[v1alpha1.AnnotationUpdatedAt] = row.Updated.Format(time.RFC3339)
	}
	return m
}

// The keys of copies: templates have names that are not unique, so that their
// objects have the UUIDs'.
func templateKey(t database.Template) *v1alpha1.ClusterTemplate {
	return &v1alpha1.ClusterTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace(t.ProjectID), Name: t.UUID}}
}

func quotaKey(q database.Quota) *v1alpha1.Quota {
	return &v1alpha1.Quota{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace(q.ProjectID), Name: v1alpha1.QuotaName(q.Resource)}}
}

func clusterKey(c database.Cluster) *v1alpha1.Cluster {
	return &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace(c.ProjectID), Name: c.StackID}}
}

func copyTemplate(t database.Template) *v1alpha1.ClusterTemplate {
	o := templateKey(t)
	o.ObjectMeta = copied(t.Row, o.Namespace, o.Name, v1alpha1.HeldByMagnum)
	o.Spec = v1alpha1.ClusterTemplateSpec{Identity: v1alpha1.Identity{UUID: t.UUID, Name: t.Name, ProjectID: t.ProjectID, UserID: t.UserID},
		TemplateValues: templateValues(t), Public: t.Public, Hidden: t.Hidden, Tags: t.Tags}
	return o
}

func templateValues(t database.Template) v1alpha1.TemplateValues {
	return v1alpha1.TemplateValues{
		COE: t.COE, ImageID: t.ImageID, ClusterDistro: t.ClusterDistro, ServerType: cmp.Or(t.ServerType, "vm"), Driver: t.Driver,
		FlavorID: t.FlavorID, MasterFlavorID: t.MasterFlavorID, KeypairID: t.KeypairID, ExternalNetworkID: t.ExternalNetworkID,
		FixedNetwork: t.FixedNetwork, FixedSubnet: t.FixedSubnet, DNSNameservers: split(t.DNSNameserver),
		NetworkDriver: cmp.Or(t.NetworkDriver, "calico"), VolumeDriver: t.VolumeDriver, APIServerPort: t.APIServerPort,
		DockerVolumeSize: t.DockerVolumeSize, DockerStorageDriver: t.DockerStorageDriver, HTTPProxy: t.HTTPProxy, HTTPSProxy: t.HTTPSProxy,
		NoProxy: t.NoProxy, RegistryEnabled: t.RegistryEnabled, InsecureRegistry: t.InsecureRegistry, TLSDisabled: t.TLSDisabled,
		MasterLBEnabled: t.MasterLBEnabled, FloatingIPEnabled: t.FloatingIPEnabled, Labels: t.Labels,
	}
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func copyQuota(q database.Quota) *v1alpha1.Quota {
	o := quotaKey(q)
	o.ObjectMeta = copied(q.Row, o.Namespace, o.Name, v1alpha1.HeldByMagnum)
	o.Spec = v1alpha1.QuotaSpec{ProjectID: q.ProjectID, Resource: q.Resource, HardLimit: q.HardLimit}
	return o
}

// heldBy says who looks after the copy.
func (c *Cluster) heldBy() string {
	switch c.Driver {
	case Heat:
		return v1alpha1.HeldByHeat
	case ClusterAPI:
		return v1alpha1.HeldByClusterAPI
	}
	return v1alpha1.HeldByMagnum
}

// copy makes the cluster's objects.
func (c *Cluster) copy(t database.Template) *copies {
	row, o := c.row, clusterKey(c.row)
	o.ObjectMeta = copied(row.Row, o.Namespace, o.Name, c.heldBy())
	o.Labels = map[string]string{v1alpha1.LabelProject: v1alpha1.LabelValue(row.ProjectID)}
	template := v1alpha1.TemplateSnapshot{UUID: t.UUID, Name: t.Name, TemplateValues: templateValues(t)}
	o.Spec = v1alpha1.ClusterSpec{
		Identity:    v1alpha1.Identity{UUID: row.UUID, Name: row.Name, ProjectID: row.ProjectID, UserID: row.UserID},
		TemplateRef: v1alpha1.TemplateRef{Namespace: v1alpha1.Namespace(t.ProjectID), Name: t.UUID}, Template: &template,
		StackID: row.StackID, Keypair: row.Keypair, MasterFlavorID: row.MasterFlavorID, FlavorID: row.FlavorID,
		MasterCount: 1, NodeCount: ptr.To[int32](0), DockerVolumeSize: row.DockerVolumeSize, Labels: row.Labels,
		FixedNetwork: row.FixedNetwork, FixedSubnet: row.FixedSubnet, FloatingIPEnabled: &row.FloatingIPEnabled, MasterLBEnabled: &row.MasterLBEnabled,
		CreateTimeoutMinutes: ptr.To(ptr.Deref(row.CreateTimeout, defaultTimeout)),
	}
	o.Status = v1alpha1.ClusterStatus{Phase: v1alpha1.Phase(row.Status), StatusReason: row.StatusReason, APIAddress: row.APIAddress,
		COEVersion: row.COEVersion, ContainerVersion: row.ContainerVersion, HealthStatus: v1alpha1.HealthStatus(row.HealthStatus),
		HealthStatusReason: row.HealthStatusReason}
	all := &copies{cluster: o}
	if c.Driver == CAPIHelm && c.look != nil {
		c.continued(o)
	}
	for _, g := range c.groups {
		group := c.group(g, o)
		switch g.Name {
		case v1alpha1.DefaultMaster:
			o.Spec.MasterCount = g.NodeCount
		case v1alpha1.DefaultWorker:
			o.Spec.NodeCount = ptr.To(g.NodeCount)
		}
		all.groups = append(all.groups, group)
	}
	return all
}

// continued is what the controllers need to go on with the release as it is: what
// it was made of, so that nobody asks the cloud, and that it is another program's,
// so that it is not rendered before an upgrade.
func (c *Cluster) continued(o *v1alpha1.Cluster) {
	l := c.look
	o.Spec.Resolved = &v1alpha1.ResolvedNames{
		Image: v1alpha1.ResolvedImage{ID: l.text("machineImageId"), OSDistro: cmp.Or(l.text("osDistro"), o.Spec.Template.ClusterDistro),
			KubernetesVersion: l.text("kubernetesVersion")},
		ExternalNetworkID: l.text("clusterNetworking", "externalNetworkId"),
		FixedNetworkID:    l.text("clusterNetworking", "internalNetwork", "networkFilter", "id"),
		FixedSubnetID:     l.text("clusterNetworking", "internalNetwork", "subnetFilter", "id"),
		VolumeTypes:       fitting(l.volumeTypes()),
	}
	o.Spec.Credential = v1alpha1.Credential{SecretName: c.StackID + "-cloud-credentials", ApplicationCredentialID: c.credential(), UserID: c.row.UserID}
	o.Status.CredentialID = o.Spec.Credential.ApplicationCredentialID
	if r := l.release; r != nil {
		o.Status.Release = &v1alpha1.ReleaseStatus{Revision: r.Version, Chart: r.Chart.Metadata.Name + "-" + r.Chart.Metadata.Version,
			TemplateUUID: o.Spec.Template.UUID, Foreign: true}
	}
}

// fitting are as many volume types as a Cluster may have.
func fitting(types []string) []string { return types[:min(len(types), v1alpha1.MaxVolumeTypes)] }

// volumeTypes are those of the storage classes, the default one first.
func (l *look) volumeTypes() []string {
	classes := []any{l.value("addons", "openstack", "csiCinder", "defaultStorageClass")}
	more, _ := l.value("addons", "openstack", "csiCinder", "additionalStorageClasses").([]any)
	var all []string
	for _, class := range append(classes, more...) {
		values, _ := class.(map[string]any)
		if kind, _ := values["volumeType"].(string); kind != "" {
			all = append(all, kind)
		}
	}
	return all
}

// group makes a copy of a node group.
func (c *Cluster) group(g database.NodeGroup, cluster *v1alpha1.Cluster) *v1alpha1.NodeGroup {
	o := v1alpha1.NewNodeGroup(cluster, g.Name)
	labels := o.Labels
	o.ObjectMeta = copied(g.Row, o.Namespace, o.Name, "")
	delete(o.Annotations, v1alpha1.AnnotationHeld) // its cluster is held
	o.Labels = labels
	o.Spec = v1alpha1.NodeGroupSpec{Identity: v1alpha1.Identity{UUID: g.UUID, Name: g.Name, ProjectID: cluster.Spec.ProjectID, UserID: cluster.Spec.UserID},
		ClusterName: cluster.Name, Role: cmp.Or(g.Role, v1alpha1.RoleWorker), IsDefault: g.IsDefault, FlavorID: g.FlavorID, ImageID: g.ImageID,
		DockerVolumeSize: g.DockerVolumeSize, NodeCount: g.NodeCount, MinNodeCount: g.MinNodeCount, MaxNodeCount: g.MaxNodeCount,
		Labels: g.Labels, NodeLabels: g.NodeLabels}
	for _, taint := range g.NodeTaints {
		o.Spec.NodeTaints = append(o.Spec.NodeTaints, v1alpha1.Taint{Key: taint["key"], Value: taint["value"], Effect: taint["effect"]})
	}
	o.Status = v1alpha1.NodeGroupStatus{Phase: v1alpha1.Phase(cmp.Or(g.Status, c.Status)), StatusReason: g.StatusReason, NodeAddresses: g.NodeAddresses,
		Version: g.Version, CompleteNodeCount: ptr.To(g.NodeCount)}
	if cluster.Spec.Resolved != nil {
		o.Status.ImageID = cluster.Spec.Resolved.Image.ID
	}
	if image := cluster.Spec.Template.ImageID; c.Driver == CAPIHelm && o.Spec.ImageID != "" && o.Spec.ImageID != image && image != "" {
		// The driver ignores a group's image: its machines are of the template's.
		o.Spec.ImageID = image
	}
	return o
}
