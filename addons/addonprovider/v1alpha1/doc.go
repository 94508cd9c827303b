// Package v1alpha1 is the API group addons.stackhpc.com/v1alpha1: Helm releases and manifests that
// are maintained on the clusters that Cluster API makes. Kinds, fields, phases and labels are those
// of cluster-api-addon-provider; conditions, observedGeneration, digests and OCI repositories are
// additions.
//
// +kubebuilder:object:generate=true
// +groupName=addons.stackhpc.com
package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

// Group is the API group.
const Group = "addons.stackhpc.com"

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

// Builder returns the builder that adds the kinds to a scheme.
func Builder() *scheme.Builder {
	return (&scheme.Builder{GroupVersion: GroupVersion}).
		Register(&HelmRelease{}, &HelmReleaseList{}, &Manifests{}, &ManifestsList{})
}
