package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Cluster is a Kubernetes cluster of a project. Its default node groups are
// NodeGroup objects like any other; the controllers make them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=clusters,scope=Namespaced,shortName=mcl,categories=magnum
// +kubebuilder:printcolumn:name="Title",type=string,JSONPath=".spec.name"
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=".status.phase"
// +kubebuilder:printcolumn:name="Health",type=string,JSONPath=".status.healthStatus"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=".status.coeVersion"
// +kubebuilder:printcolumn:name="API",type=string,JSONPath=".status.apiAddress"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=".status.statusReason",priority=1
// +kubebuilder:printcolumn:name="UUID",type=string,JSONPath=".spec.uuid",priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 43 || has(self.spec.stackID)",message="the name of the object is the name of its Helm release and may have at most 43 characters"
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterSpec `json:"spec"`
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterSpec is what is wanted of a cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.uuid) || (has(self.uuid) && self.uuid == oldSelf.uuid)",message="uuid cannot be changed"
// +kubebuilder:validation:XValidation:rule="self.projectID == oldSelf.projectID",message="projectID cannot be changed"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.stackID) || (has(self.stackID) && self.stackID == oldSelf.stackID)",message="stackID cannot be changed"
// +kubebuilder:validation:XValidation:rule="!has(self.name) || self.name.matches('^[a-zA-Z][a-zA-Z0-9_.-]*$')",message="name must begin with a letter and hold letters, digits, dots, dashes and underscores only"
type ClusterSpec struct {
	Identity `json:",inline"`

	// TemplateRef names the template. Changing it upgrades the cluster.
	TemplateRef TemplateRef `json:"templateRef"`
	// Template is a copy of the template, taken when the cluster was created or
	// last upgraded, so that later changes of the template do not reach it. The
	// controllers take it where it is absent or of another template.
	// +optional
	Template *TemplateSnapshot `json:"template,omitempty"`
	// Resolved holds what names in the spec stood for when they were checked
	// with the caller's token. The controllers resolve what is absent.
	// +optional
	Resolved *ResolvedNames `json:"resolved,omitempty"`
	// StackID is the name of the Helm release and of the Cluster API objects;
	// empty is metadata.name. Set it to adopt a release that exists.
	// +optional
	// +kubebuilder:validation:MaxLength=43
	StackID string `json:"stackID,omitempty"`

	// Keypair is the Nova keypair on the machines.
	// +optional
	Keypair string `json:"keypair,omitempty"`
	// MasterFlavorID is the name or id of the control plane's flavor.
	// +optional
	MasterFlavorID string `json:"masterFlavorID,omitempty"`
	// FlavorID is the name or id of the default workers' flavor.
	// +optional
	FlavorID string `json:"flavorID,omitempty"`
	// MasterCount is the size of default-master when it is made. Later sizes
	// are in the node group.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:XValidation:rule="self % 2 == 1",message="masterCount must be odd"
	MasterCount int32 `json:"masterCount,omitempty"`
	// NodeCount is the size of default-worker when it is made. Later sizes are
	// in the node group.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	NodeCount *int32 `json:"nodeCount,omitempty"`
	// DockerVolumeSize is the size in GB of an extra volume for containers; 0
	// is none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DockerVolumeSize int32 `json:"dockerVolumeSize,omitempty"`
	// Labels replace the template's labels; empty takes them. See
	// [Cluster.EffectiveLabels].
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// MergeLabels lays Labels over the template's labels instead.
	// +optional
	MergeLabels bool `json:"mergeLabels,omitempty"`
	// NoLabels says that the cluster has no labels: empty Labels are then not the
	// template's.
	// +optional
	NoLabels bool `json:"noLabels,omitempty"`
	// FixedNetwork is the name or id of an existing tenant network.
	// +optional
	FixedNetwork string `json:"fixedNetwork,omitempty"`
	// FixedSubnet is the name or id of a subnet of it.
	// +optional
	FixedSubnet string `json:"fixedSubnet,omitempty"`
	// FloatingIPEnabled gives the API a floating IP; nil is the template's.
	// +optional
	FloatingIPEnabled *bool `json:"floatingIPEnabled,omitempty"`
	// MasterLBEnabled puts a load balancer before the API servers; nil is the
	// template's.
	// +optional
	MasterLBEnabled *bool `json:"masterLBEnabled,omitempty"`
	// CreateTimeoutMinutes ends creation as CREATE_FAILED; 0 is never.
	// +optional
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=0
	CreateTimeoutMinutes *int32 `json:"createTimeoutMinutes,omitempty"`

	// Credential is what the cluster uses OpenStack with.
	// +optional
	Credential Credential `json:"credential,omitempty"`
	// Upgrade says how the last upgrade is to go about.
	// +optional
	Upgrade *UpgradeOptions `json:"upgrade,omitempty"`
	// Rollback puts sizes back as they were when a resize fails.
	// +optional
	Rollback bool `json:"rollback,omitempty"`
	// CARotation asks for new certificate authorities; a request whose id is
	// in status.caRotationID is done.
	// +optional
	CARotation *RotationRequest `json:"caRotation,omitempty"`
}

// TemplateRef names a template.
//
// +structType=atomic
type TemplateRef struct {
	// Namespace of the template; empty is the cluster's. A template of another
	// project must be public.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// TemplateSnapshot is a copy of a template.
//
// +structType=atomic
type TemplateSnapshot struct {
	// UUID of the template in the REST API.
	UUID string `json:"uuid"`
	// Name of the template in the REST API.
	// +optional
	Name string `json:"name,omitempty"`

	TemplateValues `json:",inline"`
}

// ResolvedNames are ids in OpenStack.
//
// +structType=atomic
type ResolvedNames struct {
	// Image of the template.
	// +optional
	Image ResolvedImage `json:"image,omitempty"`
	// ExternalNetworkID is the id of the network of floating IPs.
	// +optional
	ExternalNetworkID string `json:"externalNetworkID,omitempty"`
	// FixedNetworkID is the id of the fixed network.
	// +optional
	FixedNetworkID string `json:"fixedNetworkID,omitempty"`
	// FixedNetworkMTU is the fixed network's MTU in bytes; pods get less.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FixedNetworkMTU int32 `json:"fixedNetworkMTU,omitempty"`
	// FixedSubnetID is the id of the fixed subnet.
	// +optional
	FixedSubnetID string `json:"fixedSubnetID,omitempty"`
	// VolumeTypes are Cinder's public volume types, the default one first; each
	// becomes a storage class.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	VolumeTypes []string `json:"volumeTypes,omitempty"`
}

// MaxVolumeTypes is how many volume types ResolvedNames may have: names of 255 characters,
// which Cinder allows, then leave enough room in the object.
const MaxVolumeTypes = 256

// ResolvedImage is an image and what its properties say.
type ResolvedImage struct {
	// ID in Glance.
	// +optional
	ID string `json:"id,omitempty"`
	// OSDistro is the property os_distro.
	// +optional
	OSDistro string `json:"osDistro,omitempty"`
	// KubernetesVersion is the property kube_version without its v, 1.34.2.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
}

// Credential says which application credential a cluster uses.
//
// +structType=atomic
type Credential struct {
	// SecretName is a Secret in the cluster's namespace with keys clouds.yaml
	// (cloud "openstack") and optionally cacert; empty is
	// <stack id>-cloud-credentials.
	// +optional
	SecretName string `json:"secretName,omitempty"`
	// ApplicationCredentialID is its id in Keystone; empty for credentials that
	// were not made by the endpoint, which are never revoked.
	// +optional
	ApplicationCredentialID string `json:"applicationCredentialID,omitempty"`
	// UserID is the user it belongs to.
	// +optional
	UserID string `json:"userID,omitempty"`
	// Superseded are former credentials; the controllers revoke each once the
	// cluster uses the present one and tell so in status.revokedCredentials.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Superseded []SupersededCredential `json:"superseded,omitempty"`
}

// SupersededCredential is an application credential to be revoked.
type SupersededCredential struct {
	// ID in Keystone.
	ID string `json:"id"`
	// UserID is the user it belongs to.
	// +optional
	UserID string `json:"userID,omitempty"`
}

// UpgradeOptions say how an upgrade goes about.
type UpgradeOptions struct {
	// MaxBatchSize is how many machines of a group are replaced at a time.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxBatchSize int32 `json:"maxBatchSize,omitempty"`
}

// RotationRequest asks for something to be made anew.
type RotationRequest struct {
	// ID tells requests apart; the endpoint uses the id of the HTTP request.
	// +kubebuilder:validation:MinLength=1
	ID string `json:"id"`
	// RequestedAt is when it was asked for.
	// +optional
	RequestedAt metav1.Time `json:"requestedAt,omitempty"`
	// UserID is who asked.
	// +optional
	UserID string `json:"userID,omitempty"`
}

// ClusterList is a list of clusters.
//
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Cluster `json:"items"`
}
