package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// VNFPackage is a package (CSAR) that instances can be made of. Its name is the vnfdId.
// The operator makes it, with `slipway tacker onboard`: what it says is applied with the
// rights of the endpoint.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vnfpackages,scope=Cluster,categories=vnflcm
// +kubebuilder:printcolumn:name="Product",type=string,JSONPath=".spec.product"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=".spec.version"
// +kubebuilder:printcolumn:name="Disabled",type=boolean,JSONPath=".spec.disabled"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
type VNFPackage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec VNFPackageSpec `json:"spec"`
}

// VNFPackageSpec is a package's content and who may use it.
type VNFPackageSpec struct {
	// Product and Version are shown in lists; the content decides.
	// +optional
	Product string `json:"product,omitempty"`
	// +optional
	Version string `json:"version,omitempty"`
	// Content is the CSAR, a zip.
	// +kubebuilder:validation:MaxLength=1400000
	Content []byte `json:"content"`
	// Projects may make instances of it; empty is all.
	// +optional
	Projects []string `json:"projects,omitempty"`
	// Disabled refuses new instances and changes to this package.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
}

// VNFPackageList is a list of packages.
//
// +kubebuilder:object:root=true
type VNFPackageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []VNFPackage `json:"items"`
}
