package janitor

import rbacv1 "k8s.io/api/rbac/v1"

// Rules are what the janitor may do on the management cluster, as rules of a ClusterRole. Secrets
// may be read and deleted, but never listed (row F154).
func Rules() []rbacv1.PolicyRule {
	infrastructure := []string{"infrastructure.cluster.x-k8s.io"}
	return []rbacv1.PolicyRule{
		{APIGroups: infrastructure, Resources: []string{"openstackclusters"}, Verbs: []string{"get", "list", "watch", "patch"}},
		{APIGroups: infrastructure, Resources: []string{"openstackclusters/status"}, Verbs: []string{"patch"}},
		{APIGroups: infrastructure, Resources: []string{"openstackclusteridentities"}, Verbs: []string{"get"}},
		{APIGroups: infrastructure, Resources: []string{"openstackmachines"}, Verbs: []string{"list"}},
		{APIGroups: []string{"cluster.x-k8s.io"}, Resources: []string{"clusters"}, Verbs: []string{"get"}},
		{APIGroups: []string{"cluster.x-k8s.io"}, Resources: []string{"machines"}, Verbs: []string{"list"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}
}
