package api

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// AccessRules are what the API may do on the management cluster, as rules of a ClusterRole: its own
// resources, namespaces of projects, clusters' credentials and certificates, and the lease that
// shows whether the controllers are alive.
func AccessRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"create"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "create", "update", "delete"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get"}},
	}
}
