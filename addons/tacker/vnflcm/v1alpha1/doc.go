// Package v1alpha1 holds the custom resources behind the VNF lifecycle management
// endpoint (SOL003 as Tacker's v2 API takes it): VNFPackage, VNFInstance, VNFOperation
// and VNFSubscription. They are its only state: a process can be killed at any time.
//
// Only one operation of an instance can run, because its name follows from the instance
// and its number, see [OperationID]: the API server refuses the second one. The number
// is counted up in the same write by which the result of an operation becomes that of
// the instance.
//
// +kubebuilder:object:generate=true
// +groupName=vnflcm.slipway.sh
package v1alpha1
