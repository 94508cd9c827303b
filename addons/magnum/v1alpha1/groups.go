package v1alpha1

import (
	"strconv"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultGroups are the two node groups every cluster begins with, as the
// controllers create them. Names and uuids follow from the cluster, so that they
// can be shown before that, and two makers make the same objects. The cluster
// must have been created: its uid goes into the owner reference.
func DefaultGroups(c *Cluster) []*NodeGroup {
	master := newDefault(c, DefaultMaster, RoleMaster, max(c.Spec.MasterCount, 1), c.Spec.MasterFlavorID)
	nodes := int32(1)
	if c.Spec.NodeCount != nil {
		nodes = *c.Spec.NodeCount
	}
	worker := newDefault(c, DefaultWorker, RoleWorker, nodes, c.Spec.FlavorID)
	if least, err := strconv.ParseInt(c.EffectiveLabels()["min_node_count"], 10, 32); err == nil && least > 0 {
		worker.Spec.MinNodeCount = min(int32(least), nodes)
	}
	return []*NodeGroup{master, worker}
}

// newDefault leaves labels to the cluster: a copy would stay behind when they change.
func newDefault(c *Cluster, name, role string, count int32, flavor string) *NodeGroup {
	g := NewNodeGroup(c, name)
	g.Spec.UUID = GroupUUID(c, name)
	g.Spec.Role, g.Spec.IsDefault, g.Spec.NodeCount, g.Spec.FlavorID = role, true, count, flavor
	g.Spec.DockerVolumeSize = c.Spec.DockerVolumeSize
	if c.Spec.Template != nil {
		g.Spec.ImageID = c.Spec.Template.ImageID
	}
	return g
}

// GroupUUID is the uuid of a default group.
func GroupUUID(c *Cluster, name string) string {
	space, err := uuid.Parse(c.UUID())
	if err != nil {
		space = uuid.NameSpaceOID
	}
	return uuid.NewSHA1(space, []byte(c.Namespace+"/"+c.Name+"/"+name)).String()
}

// NewNodeGroup is an empty group of a cluster: its names, its owner and the
// finalizer.
func NewNodeGroup(c *Cluster, name string) *NodeGroup {
	yes := true
	g := &NodeGroup{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.Namespace, Name: NodeGroupName(c, name), Finalizers: []string{FinalizerNodeGroup},
		Labels: map[string]string{LabelStack: LabelValue(c.Stack()), LabelCluster: LabelValue(c.UUID())},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: GroupVersion().String(), Kind: "Cluster", Name: c.Name, UID: c.UID,
			Controller: &yes, BlockOwnerDeletion: &yes}},
	}}
	g.Spec.Identity = Identity{Name: name, ProjectID: c.Spec.ProjectID, UserID: c.Spec.UserID}
	g.Spec.ClusterName = c.Name
	return g
}
