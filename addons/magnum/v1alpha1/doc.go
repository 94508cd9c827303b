// Package v1alpha1 holds the custom resources behind the Magnum-compatible
// endpoint: ClusterTemplate, Cluster, NodeGroup and Quota. They are its only
// state. The endpoint writes spec, the controllers write status; whoever works
// by GitOps writes the same resources and gets the same clusters.
//
// A project's resources live in one namespace, see [Namespace]; an object
// whose spec.projectID does not belong to its namespace is not served.
//
// Statuses are Magnum's strings. What a client is shown is not status.phase
// alone but [Cluster.EffectivePhase] and [NodeGroup.EffectivePhase]: a spec
// that no controller has looked at yet is in progress, so a client that reads
// right after its write never takes an old COMPLETE for the new one.
//
// +kubebuilder:object:generate=true
// +groupName=magnum.slipway.sh
package v1alpha1
