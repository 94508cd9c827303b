package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of the resources.
const Group = "vnflcm.slipway.sh"

// GroupVersion returns the group and version of this package.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: Group, Version: "v1alpha1"}
}

// AddToScheme registers the kinds.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion(),
		&VNFPackage{}, &VNFPackageList{},
		&VNFInstance{}, &VNFInstanceList{},
		&VNFOperation{}, &VNFOperationList{},
		&VNFSubscription{}, &VNFSubscriptionList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion())
	return nil
}
