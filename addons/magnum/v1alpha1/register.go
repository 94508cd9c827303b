package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of the resources.
const Group = "magnum.slipway.sh"

// GroupVersion returns the group and version of this package.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: Group, Version: "v1alpha1"}
}

// AddToScheme registers the kinds.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion(),
		&ClusterTemplate{}, &ClusterTemplateList{},
		&Cluster{}, &ClusterList{},
		&NodeGroup{}, &NodeGroupList{},
		&Quota{}, &QuotaList{},
		&Placement{}, &PlacementList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion())
	return nil
}
