package vnflcm

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/slipway-sh/slipway/addons/tacker/vnflcm/v1alpha1"
)

// Rules are what the endpoint may do on the management cluster, as rules of a ClusterRole:
// its own resources, namespaces and Secrets of projects, and what packages of workload
// clusters hold. It reads Secrets by name only. Leader election is the caller's.
func Rules() []rbacv1.PolicyRule {
	// Each object is looked for, applied on the server, and deleted.
	apply := []string{"get", "create", "patch", "delete"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"vnfpackages"}, Verbs: []string{"get"}},
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"vnfinstances", "vnfoperations", "vnfsubscriptions"}, Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"}},
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"vnfinstances/status", "vnfoperations/status"}, Verbs: []string{"get", "update", "patch"}},
		// Secrets of connections are owned by instances, which admission may ask for.
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"vnfinstances/finalizers", "vnfsubscriptions/finalizers"}, Verbs: []string{"update"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "create"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: apply},
		{APIGroups: []string{"cluster.x-k8s.io"}, Resources: []string{"clusters", "machinedeployments", "machinehealthchecks"}, Verbs: apply},
		{APIGroups: []string{"cluster.x-k8s.io"}, Resources: []string{"machines"}, Verbs: []string{"get", "list", "delete"}},
		{APIGroups: []string{"controlplane.cluster.x-k8s.io"}, Resources: []string{"kubeadmcontrolplanes"}, Verbs: apply},
		{APIGroups: []string{"bootstrap.cluster.x-k8s.io"}, Resources: []string{"kubeadmconfigtemplates"}, Verbs: apply},
		{APIGroups: []string{"infrastructure.cluster.x-k8s.io"}, Resources: []string{"openstackclusters", "openstackmachinetemplates"}, Verbs: apply},
		{APIGroups: []string{"openstack.k-orc.cloud"}, Resources: []string{"servergroups"}, Verbs: apply},
		{APIGroups: []string{"addons.stackhpc.com"}, Resources: []string{"helmreleases", "manifests"}, Verbs: apply},
	}
}
