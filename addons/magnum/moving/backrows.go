package moving

import (
	"cmp"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// helmDriver is the name of magnum-capi-helm's driver.
const helmDriver = "k8s_capi_helm_v1"

// The rows that resources stand for: the other way round than copies.

func rowOfTemplate(o *v1alpha1.ClusterTemplate) *database.Template {
	v := o.Spec.TemplateValues
	return &database.Template{UUID: o.UUID(), Name: o.Title(), ProjectID: o.Spec.ProjectID, UserID: o.Spec.UserID,
		COE: v.COE, ImageID: v.ImageID, ClusterDistro: v.ClusterDistro, ServerType: cmp.Or(v.ServerType, "vm"), Driver: v.Driver, FlavorID: v.FlavorID,
		MasterFlavorID: v.MasterFlavorID, KeypairID: v.KeypairID, ExternalNetworkID: v.ExternalNetworkID, FixedNetwork: v.FixedNetwork,
		FixedSubnet: v.FixedSubnet, DNSNameserver: strings.Join(v.DNSNameservers, ","), NetworkDriver: v.NetworkDriver, VolumeDriver: v.VolumeDriver,
		APIServerPort: v.APIServerPort, DockerVolumeSize: v.DockerVolumeSize, DockerStorageDriver: v.DockerStorageDriver, HTTPProxy: v.HTTPProxy,
		HTTPSProxy: v.HTTPSProxy, NoProxy: v.NoProxy, RegistryEnabled: v.RegistryEnabled, InsecureRegistry: v.InsecureRegistry, TLSDisabled: v.TLSDisabled,
		MasterLBEnabled: v.MasterLBEnabled, FloatingIPEnabled: v.FloatingIPEnabled, Labels: v.Labels, Public: o.Spec.Public, Hidden: o.Spec.Hidden, Tags: o.Spec.Tags}
}

func rowOfQuota(o *v1alpha1.Quota) *database.Quota {
	return &database.Quota{ProjectID: o.Spec.ProjectID, Resource: o.Spec.Resource, HardLimit: o.Spec.HardLimit}
}

// rowOfCluster needs the copy of the template: what a cluster does not say itself,
// Magnum writes into its row when it is made.
func rowOfCluster(o *v1alpha1.Cluster, groups []*v1alpha1.NodeGroup) *database.Cluster {
	t := ptr.Deref(o.Spec.Template, v1alpha1.TemplateSnapshot{})
	labels := o.Spec.Labels
	if o.Spec.MergeLabels || len(labels) == 0 {
		labels = o.EffectiveLabels()
	}
	return &database.Cluster{UUID: o.UUID(), Name: o.Title(), ProjectID: o.Spec.ProjectID, UserID: o.Spec.UserID, TemplateID: t.UUID,
		Keypair: cmp.Or(o.Spec.Keypair, t.KeypairID), DockerVolumeSize: o.Spec.DockerVolumeSize, Labels: labels,
		MasterFlavorID: cmp.Or(o.Spec.MasterFlavorID, t.MasterFlavorID), FlavorID: cmp.Or(o.Spec.FlavorID, t.FlavorID), StackID: o.Stack(),
		APIAddress: o.Status.APIAddress, Status: string(o.EffectivePhase(groups)), StatusReason: o.Status.StatusReason,
		HealthStatus: string(o.Status.HealthStatus), HealthStatusReason: o.Status.HealthStatusReason, CreateTimeout: o.Spec.CreateTimeoutMinutes,
		COEVersion: o.Status.COEVersion, FixedNetwork: cmp.Or(o.Spec.FixedNetwork, t.FixedNetwork), FixedSubnet: cmp.Or(o.Spec.FixedSubnet, t.FixedSubnet),
		FloatingIPEnabled: ptr.Deref(o.Spec.FloatingIPEnabled, t.FloatingIPEnabled), MasterLBEnabled: ptr.Deref(o.Spec.MasterLBEnabled, t.MasterLBEnabled)}
}

func rowOfGroup(g *v1alpha1.NodeGroup, o *v1alpha1.Cluster) *database.NodeGroup {
	t := ptr.Deref(o.Spec.Template, v1alpha1.TemplateSnapshot{})
	flavor, role := cmp.Or(o.Spec.FlavorID, t.FlavorID), cmp.Or(g.Spec.Role, v1alpha1.RoleWorker)
	if role == v1alpha1.RoleMaster {
		flavor = cmp.Or(o.Spec.MasterFlavorID, t.MasterFlavorID)
	}
	row := &database.NodeGroup{UUID: g.UUID(), Name: g.Title(), ClusterID: o.UUID(), ProjectID: o.Spec.ProjectID, Role: role,
		DockerVolumeSize: g.Spec.DockerVolumeSize, Labels: g.Spec.Labels, NodeLabels: g.Spec.NodeLabels, FlavorID: cmp.Or(g.Spec.FlavorID, flavor),
		ImageID: cmp.Or(g.Spec.ImageID, t.ImageID), NodeCount: g.Spec.NodeCount, MinNodeCount: g.Spec.MinNodeCount, MaxNodeCount: g.Spec.MaxNodeCount,
		IsDefault: g.Spec.IsDefault, StackID: o.Stack(), Status: string(g.EffectivePhase(o)), StatusReason: g.Status.StatusReason}
	if g.Spec.MergeLabels || len(row.Labels) == 0 {
		row.Labels = g.EffectiveLabels(o)
	}
	if ptr.Deref(row.MaxNodeCount, 0) == 0 {
		row.MaxNodeCount = nil
	}
	for _, taint := range g.Spec.NodeTaints {
		row.NodeTaints = append(row.NodeTaints, map[string]string{"key": taint.Key, "value": taint.Value, "effect": taint.Effect})
	}
	return row
}

// earlier is what Slipway's resources said of a cluster when it was moved in.
func earlier(r *record, templates []database.Template) (*database.Cluster, map[string]*database.NodeGroup) {
	if r == nil || r.Cluster == nil {
		return nil, nil
	}
	var t database.Template
	for _, one := range templates {
		if one.UUID == r.Cluster.TemplateID {
			t = one
		}
	}
	c := &Cluster{Item: Item{UUID: r.Cluster.UUID, ProjectID: r.Cluster.ProjectID}, Driver: CAPIHelm, Status: r.Cluster.Status, row: *r.Cluster, groups: r.Groups}
	all := c.copy(t)
	groups := map[string]*database.NodeGroup{}
	for _, g := range all.groups {
		groups[g.UUID()] = rowOfGroup(g, all.cluster)
	}
	return rowOfCluster(all.cluster, all.groups), groups
}
