package controller

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// Rules are what the controllers may do on the management cluster, as rules of
// a ClusterRole: their own resources, and every kind the chart renders. Leader
// election is the caller's.
func Rules() []rbacv1.PolicyRule {
	all := []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"*"}, Verbs: all},
		{APIGroups: []string{"cluster.x-k8s.io", "controlplane.cluster.x-k8s.io", "bootstrap.cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io",
			"addons.stackhpc.com", "openstack.k-orc.cloud"}, Resources: []string{"*"}, Verbs: all},
		{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps", "serviceaccounts"}, Verbs: all},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch", "create"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: all},
		// The chart's autoscaler has a Role; who makes one must have its rules or may escalate.
		{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"roles", "rolebindings"}, Verbs: append([]string{"escalate", "bind"}, all...)},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}
}
