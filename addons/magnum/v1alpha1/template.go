package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterTemplate describes clusters of one sort: image, flavors, networks and
// labels.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clustertemplates,scope=Namespaced,shortName=mct,categories=magnum
// +kubebuilder:printcolumn:name="Title",type=string,JSONPath=".spec.name"
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=".spec.imageID"
// +kubebuilder:printcolumn:name="Public",type=boolean,JSONPath=".spec.public"
// +kubebuilder:printcolumn:name="Hidden",type=boolean,JSONPath=".spec.hidden"
// +kubebuilder:printcolumn:name="UUID",type=string,JSONPath=".spec.uuid",priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
type ClusterTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterTemplateSpec `json:"spec"`
}

// ClusterTemplateSpec is what a project states about a template.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.uuid) || (has(self.uuid) && self.uuid == oldSelf.uuid)",message="uuid cannot be changed"
// +kubebuilder:validation:XValidation:rule="self.projectID == oldSelf.projectID",message="projectID cannot be changed"
type ClusterTemplateSpec struct {
	Identity       `json:",inline"`
	TemplateValues `json:",inline"`

	// Public templates are seen and used by every project.
	// +optional
	Public bool `json:"public,omitempty"`
	// Hidden templates are left out of lists for other projects and can be
	// used by administrators only.
	// +optional
	Hidden bool `json:"hidden,omitempty"`
	// Tags is a comma-separated list.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Tags string `json:"tags,omitempty"`
}

// Identity is what every resource of a project carries.
type Identity struct {
	// UUID is the identifier in the REST API; an object without one is known
	// by its metadata.uid. The endpoint always writes one, because a restored
	// backup has new uids.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`
	UUID string `json:"uuid,omitempty"`
	// Name as the REST API shows it; not unique. Empty is metadata.name.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name,omitempty"`
	// ProjectID is the Keystone project; it must be the one of the namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	ProjectID string `json:"projectID"`
	// UserID is the Keystone user who made the object.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	UserID string `json:"userID,omitempty"`
}

// TemplateValues are the properties of a template that shape a cluster. Empty
// strings and zeros are Magnum's null.
type TemplateValues struct {
	// COE is the container orchestration engine.
	// +kubebuilder:validation:Enum=kubernetes
	// +kubebuilder:default=kubernetes
	COE string `json:"coe"`
	// ImageID is the name or id of a Glance image.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	ImageID string `json:"imageID"`
	// ClusterDistro is the image's property os_distro.
	// +optional
	ClusterDistro string `json:"clusterDistro,omitempty"`
	// ServerType is vm or bm; only vm can be built.
	// +optional
	// +kubebuilder:validation:Enum=vm;bm
	// +kubebuilder:default=vm
	ServerType string `json:"serverType,omitempty"`
	// Driver is the driver's name as Magnum shows it.
	// +optional
	Driver string `json:"driver,omitempty"`
	// FlavorID is the name or id of the workers' flavor.
	// +optional
	FlavorID string `json:"flavorID,omitempty"`
	// MasterFlavorID is the name or id of the control plane's flavor.
	// +optional
	MasterFlavorID string `json:"masterFlavorID,omitempty"`
	// KeypairID is the Nova keypair of clusters that name none.
	// +optional
	KeypairID string `json:"keypairID,omitempty"`
	// ExternalNetworkID is the name or id of the network of floating IPs.
	// +optional
	ExternalNetworkID string `json:"externalNetworkID,omitempty"`
	// FixedNetwork is the name or id of an existing tenant network.
	// +optional
	FixedNetwork string `json:"fixedNetwork,omitempty"`
	// FixedSubnet is the name or id of a subnet of it.
	// +optional
	FixedSubnet string `json:"fixedSubnet,omitempty"`
	// DNSNameservers are IPv4 addresses.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=64
	DNSNameservers []string `json:"dnsNameservers,omitempty"`
	// NetworkDriver is the CNI.
	// +optional
	// +kubebuilder:validation:Enum=calico;cilium;flannel
	// +kubebuilder:default=calico
	NetworkDriver string `json:"networkDriver,omitempty"`
	// VolumeDriver is cinder or empty.
	// +optional
	// +kubebuilder:validation:Enum=cinder;""
	VolumeDriver string `json:"volumeDriver,omitempty"`
	// APIServerPort is the port of the API server's load balancer; 0 is 6443.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	APIServerPort int32 `json:"apiserverPort,omitempty"`
	// DockerVolumeSize is the size in GB of an extra volume for containers.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DockerVolumeSize int32 `json:"dockerVolumeSize,omitempty"`
	// DockerStorageDriver is kept and shown.
	// +optional
	DockerStorageDriver string `json:"dockerStorageDriver,omitempty"`
	// HTTPProxy is used by machines for plain requests.
	// +optional
	HTTPProxy string `json:"httpProxy,omitempty"`
	// HTTPSProxy is used by machines for TLS requests.
	// +optional
	HTTPSProxy string `json:"httpsProxy,omitempty"`
	// NoProxy lists what is reached without a proxy, comma-separated.
	// +optional
	NoProxy string `json:"noProxy,omitempty"`
	// RegistryEnabled is kept and shown.
	// +optional
	RegistryEnabled bool `json:"registryEnabled,omitempty"`
	// InsecureRegistry is a registry that is reached without TLS.
	// +optional
	InsecureRegistry string `json:"insecureRegistry,omitempty"`
	// TLSDisabled is kept and shown; the API server always has TLS.
	// +optional
	TLSDisabled bool `json:"tlsDisabled,omitempty"`
	// MasterLBEnabled puts a load balancer before the API servers.
	// +optional
	MasterLBEnabled bool `json:"masterLBEnabled,omitempty"`
	// FloatingIPEnabled gives the API a floating IP.
	// +optional
	// +kubebuilder:default=true
	FloatingIPEnabled bool `json:"floatingIPEnabled"`
	// Labels are the driver's settings.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
}

// ClusterTemplateList is a list of templates.
//
// +kubebuilder:object:root=true
type ClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterTemplate `json:"items"`
}
