package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Placement says which of several management clusters a project is on. Routers write one for each
// project, once; its name is [Namespace] of the project.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=placements,scope=Cluster,categories=magnum
// +kubebuilder:printcolumn:name="Project",type=string,JSONPath=".spec.projectID"
// +kubebuilder:printcolumn:name="Management cluster",type=string,JSONPath=".spec.managementCluster"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
type Placement struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PlacementSpec `json:"spec"`
}

// PlacementSpec is where a project is.
//
// +kubebuilder:validation:XValidation:rule="self.projectID == oldSelf.projectID",message="projectID cannot be changed"
type PlacementSpec struct {
	// ProjectID is the Keystone project.
	// +kubebuilder:validation:MinLength=1
	ProjectID string `json:"projectID"`
	// ManagementCluster is the name by which routers know the management cluster.
	// +kubebuilder:validation:MinLength=1
	ManagementCluster string `json:"managementCluster"`
}

// PlacementList is a list of placements.
//
// +kubebuilder:object:root=true
type PlacementList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Placement `json:"items"`
}
