package scheduledbackup

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/slipway-sh/slipway/internal/backup/capture"
)

// Rules are the rights on the management cluster: to list what is backed up, no more.
// groups are API groups besides those that every backup has.
func Rules(groups []string) []rbacv1.PolicyRule {
	list := []string{"list"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces", "secrets", "configmaps"}, Verbs: list},
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: list},
		{APIGroups: append(capture.Known(), groups...), Resources: []string{"*"}, Verbs: list},
	}
}
