package janitor

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The strings that others rely on (cluster-api-janitor-openstack, and the texts that OCCM and
// Cinder CSI write on what they create).
const (
	// Finalizer holds a deleted OpenStackCluster until it is cleaned up.
	Finalizer = "janitor.capi.stackhpc.com"
	// VolumesPolicyAnnotation on an OpenStackCluster: "delete" deletes volumes
	// and snapshots, any other value keeps them.
	VolumesPolicyAnnotation = "janitor.capi.stackhpc.com/volumes-policy"
	// CredentialPolicyAnnotation on the identity Secret: "delete" deletes the
	// application credential and the Secret at the end.
	CredentialPolicyAnnotation = "janitor.capi.stackhpc.com/credential-policy"
	// RetryAnnotation on an OpenStackCluster: any change causes an attempt at once.
	RetryAnnotation = "janitor.capi.stackhpc.com/retry"
	// KeepKey in the metadata of a volume: "true" keeps it. Its domain is another one, as it is
	// upstream.
	KeepKey = "janitor.capi.azimuth-cloud.com/keep"

	// ReleaseAnnotation on a deleted OpenStackCluster: "true" lets it go
	// without cleaning up.
	ReleaseAnnotation = "janitor.capi.stackhpc.com/release"
	// DryRunAnnotation on an OpenStackCluster: "true" writes ReportAnnotation
	// and deletes nothing, also when the cluster is deleted.
	DryRunAnnotation = "janitor.capi.stackhpc.com/dry-run"
	// ReportAnnotation is what a dry run found, as JSON (type Report).
	ReportAnnotation = "janitor.capi.stackhpc.com/report"

	policyDelete = "delete"
	policyKeep   = "keep"
	yes          = "true"

	clusterNameLabel = "cluster.x-k8s.io/cluster-name"
	// movedAnnotation is set by `clusterctl move` on objects that it deletes because they live on
	// elsewhere.
	movedAnnotation  = "clusterctl.cluster.x-k8s.io/delete-for-move"
	pausedAnnotation = "cluster.x-k8s.io/paused"

	// ClusterKey in the metadata of a volume or snapshot is the name of the
	// cluster on which Cinder CSI made it.
	ClusterKey = "cinder.csi.openstack.org/cluster"
)

// clusterKind is OpenStackCluster. It is read without its Go type, so that fields of other versions
// of CAPO survive.
func clusterKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta1", Kind: "OpenStackCluster"}
}

func identityKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1alpha1", Kind: "OpenStackClusterIdentity"}
}

func ownerKind() schema.GroupKind {
	return schema.GroupKind{Group: "cluster.x-k8s.io", Kind: "Cluster"}
}

// AddressOf reports whether OCCM describes a floating IP as one of the cluster's.
func AddressOf(description, cluster string) bool {
	return strings.HasPrefix(description, "Floating IP for Kubernetes") && strings.HasSuffix(description, " from cluster "+cluster)
}

// BalancerOf reports whether OCCM names a load balancer as one of the cluster's:
// kube_service_<cluster>_<namespace>_<service>; no cluster has an underscore.
func BalancerOf(name, cluster string) bool {
	return strings.HasPrefix(name, "kube_service_"+cluster+"_")
}

// GroupOf reports whether OCCM describes a security group as one of the cluster's.
func GroupOf(description, cluster string) bool {
	return strings.HasPrefix(description, "Security Group for") && strings.HasSuffix(description, " Service LoadBalancer in cluster "+cluster)
}

// volumeOf is the same for volumes and snapshots, which Cinder CSI makes.
func volumeOf(metadata map[string]string, cluster string) bool {
	return metadata[ClusterKey] == cluster
}

func kept(metadata map[string]string) bool { return metadata[KeepKey] == yes }
