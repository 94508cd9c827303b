package scheduledbackup

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/slipway-sh/slipway/internal/backup/capture"
)

// Rules are the rights on the management cluster: to list what is backed up, no more.
// The chart adds Settings.Groups.
func Rules() []rbacv1.PolicyRule {
	list := []string{"list"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces", "secrets", "configmaps"}, Verbs: list},
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: list},
		{APIGroups: capture.Known(), Resources: []string{"*"}, Verbs: list},
	}
}
