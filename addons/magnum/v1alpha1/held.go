package v1alpha1

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The values of [AnnotationHeld]: who manages the object.
const (
	// HeldByMagnum is a copy of what OpenStack's Magnum still manages, until it is
	// adopted.
	HeldByMagnum = "magnum"
	// HeldByHandBack is on its way back to Magnum, whose database is being written.
	// Then it is a copy of Magnum's again.
	HeldByHandBack = "hand-back"
	// HeldByHeat is a cluster of Magnum's Heat drivers, which Slipway cannot manage.
	HeldByHeat = "heat"
	// HeldByClusterAPI is a cluster of magnum-cluster-api, of a ClusterClass.
	HeldByClusterAPI = "magnum-cluster-api"
)

// Held says who manages an object instead of Slipway; empty is Slipway.
func Held(o metav1.Object) string { return o.GetAnnotations()[AnnotationHeld] }

// FormerID is Magnum's id of an object that was moved in, 0 for others.
func FormerID(o metav1.Object) int64 {
	id, err := strconv.ParseInt(o.GetAnnotations()[AnnotationFormerID], 10, 64)
	if err != nil || id < 0 {
		return 0
	}
	return id
}
