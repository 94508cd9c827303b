package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Quota bounds what a project may have. Its name is [QuotaName] of the
// resource, so there is one for each.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=quotas,scope=Namespaced,categories=magnum
// +kubebuilder:printcolumn:name="Project",type=string,JSONPath=".spec.projectID"
// +kubebuilder:printcolumn:name="Resource",type=string,JSONPath=".spec.resource"
// +kubebuilder:printcolumn:name="Limit",type=integer,JSONPath=".spec.hardLimit"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
type Quota struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec QuotaSpec `json:"spec"`
}

// QuotaSpec is a bound.
//
// +kubebuilder:validation:XValidation:rule="self.projectID == oldSelf.projectID && self.resource == oldSelf.resource",message="projectID and resource cannot be changed"
type QuotaSpec struct {
	// ProjectID is the Keystone project; it must be the one of the namespace.
	// +kubebuilder:validation:MinLength=1
	ProjectID string `json:"projectID"`
	// Resource that is counted.
	// +kubebuilder:validation:Enum=Cluster
	Resource string `json:"resource"`
	// HardLimit is the most there may be.
	// +kubebuilder:validation:Minimum=0
	HardLimit int32 `json:"hardLimit"`
}

// QuotaList is a list of quotas.
//
// +kubebuilder:object:root=true
type QuotaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Quota `json:"items"`
}
