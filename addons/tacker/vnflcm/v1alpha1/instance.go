package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// VNFInstance is a VNF instance. Its name is its id.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=vnfinstances,scope=Namespaced,categories=vnflcm
// +kubebuilder:printcolumn:name="Name",type=string,JSONPath=".status.name"
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=".status.state"
// +kubebuilder:printcolumn:name="VNFD",type=string,JSONPath=".status.vnfdID"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
type VNFInstance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec VNFInstanceSpec `json:"spec"`
	// +optional
	Status VNFInstanceStatus `json:"status,omitempty"`
}

// VNFInstanceSpec is what was asked for when the instance was created.
type VNFInstanceSpec struct {
	// ProjectID is the Keystone project; it must be the one of the namespace.
	// +kubebuilder:validation:MinLength=1
	ProjectID string `json:"projectID"`
	// UserID made the instance.
	// +optional
	UserID string `json:"userID,omitempty"`

	Identity `json:",inline"`
}

// Identity is what an instance is and is called.
type Identity struct {
	// VNFDID names the VNFPackage.
	// +optional
	VNFDID string `json:"vnfdID,omitempty"`
	// Provider, Product, SoftwareVersion and VNFDVersion are the package's.
	// +optional
	Provider string `json:"provider,omitempty"`
	// +optional
	Product string `json:"product,omitempty"`
	// +optional
	SoftwareVersion string `json:"softwareVersion,omitempty"`
	// +optional
	VNFDVersion string `json:"vnfdVersion,omitempty"`
	// Name and Description are the caller's.
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	Description string `json:"description,omitempty"`
	// Metadata, Extensions and Properties are the caller's pairs.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Metadata *runtime.RawExtension `json:"metadata,omitempty"`
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Extensions *runtime.RawExtension `json:"extensions,omitempty"`
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Properties *runtime.RawExtension `json:"properties,omitempty"`
}

// InstanceState is whether an instance is instantiated.
type InstanceState string

// The states of instances.
const (
	NotInstantiated InstanceState = "NOT_INSTANTIATED"
	Instantiated    InstanceState = "INSTANTIATED"
)

// VNFInstanceStatus is the result of all operations so far.
type VNFInstanceStatus struct {
	Identity `json:",inline"`

	// +optional
	State InstanceState `json:"state,omitempty"`
	// Flavour is the deployment flavour.
	// +optional
	Flavour string `json:"flavour,omitempty"`
	// Levels are the scale levels of aspects.
	// +optional
	Levels map[string]int32 `json:"levels,omitempty"`
	// Files of the package are applied, into Namespace unless an object names another.
	// With a Release, it is one chart, which is rendered.
	// +optional
	Files []string `json:"files,omitempty"`
	// +optional
	Release *Release `json:"release,omitempty"`
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// VIM is vimConnectionInfo without secrets; those are in VIMSecret.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	VIM *runtime.RawExtension `json:"vim,omitempty"`
	// +optional
	VIMSecret string `json:"vimSecret,omitempty"`
	// Objects have been applied, in this order.
	// +optional
	Objects []ObjectRef `json:"objects,omitempty"`
	// Targets are the objects that make the machines of units.
	// +optional
	Targets []Target `json:"targets,omitempty"`

	// Current is the operation that has begun.
	// +optional
	Current string `json:"current,omitempty"`
	// Sequence is the number of the last operation that ended, Ended the state in which.
	// +optional
	Sequence int64 `json:"sequence,omitempty"`
	// +optional
	Ended OperationState `json:"ended,omitempty"`
	// Failure is why that operation did not complete.
	// +optional
	Failure *Problem `json:"failure,omitempty"`
	// Announced says that subscribers know of the creation.
	// +optional
	Announced bool `json:"announced,omitempty"`
}

// Release is how the chart of a package is rendered.
type Release struct {
	// Names are the values of VDUs' numbers (helm_value_names).
	// +optional
	Names map[string]string `json:"names,omitempty"`
	// Parameters are values of the caller's (helm_parameters).
	// +optional
	Parameters map[string]string `json:"parameters,omitempty"`
}

// ReleaseName is the name of an instance's release, as Tacker makes it.
func ReleaseName(instance string) string {
	return "vnf" + strings.ReplaceAll(instance, "-", "")
}

// ObjectRef names an object of Kubernetes.
type ObjectRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// +optional
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Same reports whether two names are of one object: it is served in several versions of its kind.
func (r ObjectRef) Same(other ObjectRef) bool {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind() == schema.FromAPIVersionAndKind(other.APIVersion, other.Kind).GroupKind() &&
		r.Namespace == other.Namespace && r.Name == other.Name
}

// Target is the object that makes the machines of a unit (VDU).
type Target struct {
	Unit      string `json:"unit"`
	ObjectRef `json:",inline"`
	// Aspect is that by which it scales; Initial machines are on level 0, Step more on
	// each further one, up to MaxLevel.
	// +optional
	Aspect   string `json:"aspect,omitempty"`
	Initial  int32  `json:"initial"`
	Step     int32  `json:"step"`
	MaxLevel int32  `json:"maxLevel"`
}

// Count is the number of machines on the levels of an instance.
func (t Target) Count(levels map[string]int32) int64 {
	return int64(t.Initial) + int64(levels[t.Aspect])*int64(t.Step)
}

// VNFInstanceList is a list of instances.
//
// +kubebuilder:object:root=true
type VNFInstanceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []VNFInstance `json:"items"`
}
