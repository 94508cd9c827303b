package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// VNFOperation is an operation occurrence. Its name is its id, see [OperationID].
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=vnfoperations,scope=Namespaced,categories=vnflcm
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=".spec.operation"
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=".status.state"
// +kubebuilder:printcolumn:name="Instance",type=string,JSONPath=".spec.instanceID"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
type VNFOperation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec VNFOperationSpec `json:"spec"`
	// +optional
	Status VNFOperationStatus `json:"status,omitempty"`
}

// OperationType is what an operation does.
type OperationType string

// The operations.
const (
	Instantiate   OperationType = "INSTANTIATE"
	Scale         OperationType = "SCALE"
	Terminate     OperationType = "TERMINATE"
	Heal          OperationType = "HEAL"
	ModifyInfo    OperationType = "MODIFY_INFO"
	ChangePackage OperationType = "CHANGE_VNFPKG"
)

// VNFOperationSpec is what was asked for.
type VNFOperationSpec struct {
	// ProjectID is the Keystone project; it must be the one of the namespace.
	ProjectID string `json:"projectID"`
	// UserID asked for it.
	// +optional
	UserID string `json:"userID,omitempty"`
	// InstanceID names the VNFInstance, Sequence is the number among its operations.
	InstanceID string        `json:"instanceID"`
	Sequence   int64         `json:"sequence"`
	Operation  OperationType `json:"operation"`
	// Params is the body of the request without secrets.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Params *runtime.RawExtension `json:"params,omitempty"`
	// Secret holds the secrets of vimConnectionInfo.
	// +optional
	Secret string `json:"secret,omitempty"`
	// Levels are the scale levels with which it ends: they do not depend on what is there.
	// +optional
	Levels map[string]int32 `json:"levels,omitempty"`
}

// OperationState is a state of SOL003's state machine.
type OperationState string

// The states of operations.
const (
	Starting    OperationState = "STARTING"
	Processing  OperationState = "PROCESSING"
	Completed   OperationState = "COMPLETED"
	FailedTemp  OperationState = "FAILED_TEMP"
	Failed      OperationState = "FAILED"
	RollingBack OperationState = "ROLLING_BACK"
	RolledBack  OperationState = "ROLLED_BACK"
)

// Final says that nothing follows a state.
func (s OperationState) Final() bool { return s == Completed || s == Failed || s == RolledBack }

// VNFOperationStatus is how far it is.
type VNFOperationStatus struct {
	// State is empty until the endpoint has looked.
	// +optional
	State OperationState `json:"state,omitempty"`
	// +optional
	Entered *metav1.Time `json:"entered,omitempty"`
	// Worker is the process that works on it; another one does not continue where this
	// one was killed.
	// +optional
	Worker string `json:"worker,omitempty"`
	// GivenUp says that a client let it fail: nothing else is decided about it.
	// +optional
	GivenUp bool `json:"givenUp,omitempty"`
	// Error is why it did not complete.
	// +optional
	Error *Problem `json:"error,omitempty"`
	// Failure is why it failed last, also while it is retried or rolled back.
	// +optional
	Failure *Problem `json:"failure,omitempty"`
	// Waiting is what it waits for.
	// +optional
	Waiting string `json:"waiting,omitempty"`
	// Before are the machines when it began, Affected what it did to machines.
	// +optional
	Before []Machine `json:"before,omitempty"`
	// +optional
	Affected []Affected `json:"affected,omitempty"`
	// Outbox are changes of state that subscribers do not know yet.
	// +optional
	Outbox []Event `json:"outbox,omitempty"`
}

// Problem is an error as RFC 7807 has it.
type Problem struct {
	Status int32  `json:"status"`
	Detail string `json:"detail"`
}

// Machine is a machine of Cluster API: a VNFC.
type Machine struct {
	Name string `json:"name"`
	// Unit is the vduId.
	Unit string `json:"unit"`
	// Server is the id in OpenStack, empty until there is one.
	// +optional
	Server string `json:"server,omitempty"`
	// +optional
	Node string `json:"node,omitempty"`
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// Affected is a machine that was added, removed or modified.
type Affected struct {
	Machine `json:",inline"`
	// +kubebuilder:validation:Enum=ADDED;REMOVED;MODIFIED
	Change string `json:"change"`
}

// Event is a change of state for subscribers.
type Event struct {
	ID    string         `json:"id"`
	State OperationState `json:"state"`
	At    metav1.Time    `json:"at"`
	// +optional
	Error *Problem `json:"error,omitempty"`
	// Attempts failed so far; Told are the subscriptions that have it.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// +optional
	Told []string `json:"told,omitempty"`
}

// VNFOperationList is a list of operations.
//
// +kubebuilder:object:root=true
type VNFOperationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []VNFOperation `json:"items"`
}
