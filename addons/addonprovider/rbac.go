package addonprovider

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

// Rules are what the addon provider may do on the management cluster, as rules of a ClusterRole.
// The rules for leader election are up to the caller.
func Rules() []rbacv1.PolicyRule {
	read := []string{"get", "list", "watch"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"helmreleases", "manifests"}, Verbs: append([]string{"update", "patch"}, read...)},
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"helmreleases/status", "manifests/status"}, Verbs: []string{"get", "update", "patch"}},
		// Owner references that block deletion need this where admission asks for it.
		{APIGroups: []string{v1alpha1.Group}, Resources: []string{"helmreleases/finalizers", "manifests/finalizers"}, Verbs: []string{"update"}},
		{APIGroups: []string{"cluster.x-k8s.io"}, Resources: []string{"clusters"}, Verbs: read},
		{APIGroups: []string{"cluster.x-k8s.io"}, Resources: []string{"clusters/finalizers"}, Verbs: []string{"update"}},
		{APIGroups: []string{"infrastructure.cluster.x-k8s.io"}, Resources: []string{"*"}, Verbs: read},
		// Labelling what addons refer to needs patch; contents are read one by one.
		{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: append([]string{"patch"}, read...)},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}
}
