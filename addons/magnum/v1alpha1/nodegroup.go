package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NodeGroup is a set of like machines of one cluster. It belongs to the
// Cluster by an owner reference.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=nodegroups,scope=Namespaced,shortName=mng,categories=magnum
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=".spec.clusterName"
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=".spec.name"
// +kubebuilder:printcolumn:name="Role",type=string,JSONPath=".spec.role"
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=".spec.nodeCount"
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=".status.readyNodes"
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=".status.phase"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=".status.statusReason",priority=1
// +kubebuilder:printcolumn:name="UUID",type=string,JSONPath=".spec.uuid",priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
type NodeGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec NodeGroupSpec `json:"spec"`
	// +optional
	Status NodeGroupStatus `json:"status,omitempty"`
}

// NodeGroupSpec is what is wanted of a node group.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.uuid) || (has(self.uuid) && self.uuid == oldSelf.uuid)",message="uuid cannot be changed"
// +kubebuilder:validation:XValidation:rule="self.clusterName == oldSelf.clusterName",message="clusterName cannot be changed"
// +kubebuilder:validation:XValidation:rule="self.role == oldSelf.role",message="role cannot be changed"
// +kubebuilder:validation:XValidation:rule="self.role != 'master' || self.nodeCount % 2 == 1",message="a master group must have an odd number of nodes"
// +kubebuilder:validation:XValidation:rule="self.minNodeCount <= self.nodeCount",message="nodeCount must not be below minNodeCount"
// +kubebuilder:validation:XValidation:rule="!has(self.maxNodeCount) || self.maxNodeCount == 0 || self.nodeCount <= self.maxNodeCount",message="nodeCount must not be above maxNodeCount"
type NodeGroupSpec struct {
	Identity `json:",inline"`

	// ClusterName is the object's name of the Cluster in the same namespace.
	// +kubebuilder:validation:MinLength=1
	ClusterName string `json:"clusterName"`
	// Role is master for the control plane; any other role is a worker.
	// +optional
	// +kubebuilder:default=worker
	// +kubebuilder:validation:MaxLength=255
	Role string `json:"role,omitempty"`
	// IsDefault groups live and die with the cluster.
	// +optional
	IsDefault bool `json:"isDefault,omitempty"`
	// FlavorID is the name or id of the flavor; empty is the cluster's.
	// +optional
	FlavorID string `json:"flavorID,omitempty"`
	// ImageID is the name or id of the image; empty or equal to the template's
	// follows upgrades of the cluster.
	// +optional
	ImageID string `json:"imageID,omitempty"`
	// Image is what ImageID stood for when it was checked.
	// +optional
	Image *ResolvedImage `json:"image,omitempty"`
	// DockerVolumeSize is the size in GB of an extra volume for containers.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DockerVolumeSize int32 `json:"dockerVolumeSize,omitempty"`
	// NodeCount is the number of machines wanted.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	NodeCount int32 `json:"nodeCount"`
	// MinNodeCount bounds resizes and the autoscaler.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	MinNodeCount int32 `json:"minNodeCount"`
	// MaxNodeCount bounds resizes and the autoscaler; nil or 0 is no bound.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxNodeCount *int32 `json:"maxNodeCount,omitempty"`
	// Labels are settings of the group; empty takes the cluster's.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// MergeLabels lays Labels over the cluster's.
	// +optional
	MergeLabels bool `json:"mergeLabels,omitempty"`
	// NodeLabels are put on the nodes.
	// +optional
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
	// NodeTaints are put on the nodes.
	// +optional
	NodeTaints []Taint `json:"nodeTaints,omitempty"`
	// NodesToRemove are ids of Nova servers to go first when the group
	// shrinks; ids that are no machine of the group are ignored.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	NodesToRemove []string `json:"nodesToRemove,omitempty"`
}

// Taint is a taint of nodes.
type Taint struct {
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`
	// +optional
	Value string `json:"value,omitempty"`
	// +optional
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect string `json:"effect,omitempty"`
}

// NodeGroupStatus is what is known of a node group.
type NodeGroupStatus struct {
	// Phase is Magnum's status of spec in generation ObservedGeneration. Show
	// [NodeGroup.EffectivePhase] instead.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// StatusReason is the first real cause of a failure.
	// +optional
	StatusReason string `json:"statusReason,omitempty"`
	// ObservedGeneration is the generation Phase speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// UpdatedAt is when a phase was last entered after the first.
	// +optional
	UpdatedAt *metav1.Time `json:"updatedAt,omitempty"`
	// NodeAddresses are the machines' addresses.
	// +optional
	NodeAddresses []string `json:"nodeAddresses,omitempty"`
	// ReadyNodes is the number of nodes that are Ready.
	// +optional
	ReadyNodes int32 `json:"readyNodes,omitempty"`
	// Version is the Kubernetes version of the group.
	// +optional
	Version string `json:"version,omitempty"`
	// ImageID is the id of the image that the group's machines are made of.
	// +optional
	ImageID string `json:"imageID,omitempty"`
	// CompleteNodeCount is the size at the last COMPLETE; a rollback goes back
	// to it.
	// +optional
	CompleteNodeCount *int32 `json:"completeNodeCount,omitempty"`
	// Conditions, see the Condition constants.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodeGroupList is a list of node groups.
//
// +kubebuilder:object:root=true
type NodeGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeGroup `json:"items"`
}
