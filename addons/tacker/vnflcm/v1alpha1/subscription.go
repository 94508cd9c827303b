package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// VNFSubscription is who wants to know. Its name is its id; what authenticates with the
// callback is in the Secret of the same name, which goes with it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vnfsubscriptions,scope=Namespaced,categories=vnflcm
// +kubebuilder:printcolumn:name="Callback",type=string,JSONPath=".spec.callbackURI"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
type VNFSubscription struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec VNFSubscriptionSpec `json:"spec"`
}

// VNFSubscriptionSpec is a subscription.
type VNFSubscriptionSpec struct {
	// ProjectID is the Keystone project; it must be the one of the namespace.
	ProjectID string `json:"projectID"`
	// +optional
	UserID string `json:"userID,omitempty"`
	// +kubebuilder:validation:MaxLength=255
	CallbackURI string `json:"callbackURI"`
	// Authenticated says that nothing is sent without the Secret.
	// +optional
	Authenticated bool `json:"authenticated,omitempty"`
	// +kubebuilder:validation:Enum=FULL;SHORT
	Verbosity string `json:"verbosity"`
	// Filter is SOL003's LifecycleChangeNotificationsFilter.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Filter *runtime.RawExtension `json:"filter,omitempty"`
}

// VNFSubscriptionList is a list of subscriptions.
//
// +kubebuilder:object:root=true
type VNFSubscriptionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []VNFSubscription `json:"items"`
}
