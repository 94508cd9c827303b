package policy

import "strings"

// Defaults are the rules without a policy file: Magnum's since 2023.2, with
// one difference: a certificate is the matter of the project, not only of the
// user who made the cluster (docs/design/0012-magnum-api.md).
func Defaults() map[string]string {
	rules := map[string]string{
		"context_is_admin":        "role:admin",
		"admin_api":               "rule:context_is_admin",
		"admin_or_owner":          "is_admin:True or project_id:%(project_id)s",
		"admin_or_user":           "is_admin:True or user_id:%(user_id)s",
		"project_member":          "role:member and project_id:%(project_id)s",
		"project_reader":          "role:reader and project_id:%(project_id)s",
		"owner":                   "user_id:%(user_id)s",
		"admin_or_project_member": "rule:admin_api or rule:project_member",
		"admin_or_project_reader": "rule:admin_api or rule:project_reader",
		"admin_or_member_user":    "rule:admin_api or (rule:project_member and rule:owner)",

		"cluster:update_health_status": "rule:admin_or_member_user",
		"credential:rotate":            "rule:project_member",
		"clustertemplate:publish":      "rule:admin_api",
		"magnum-service:get_all":       "rule:admin_api",
	}
	for rule, names := range map[string]string{
		"rule:admin_or_project_member": `cluster:create cluster:delete cluster:update cluster:resize cluster:upgrade
			clustertemplate:create clustertemplate:delete clustertemplate:update nodegroup:create nodegroup:delete nodegroup:update
			certificate:create certificate:rotate_ca federation:create federation:update federation:delete`,
		"rule:admin_or_project_reader": `cluster:detail cluster:get cluster:get_all clustertemplate:detail clustertemplate:get clustertemplate:get_all
			nodegroup:get nodegroup:get_all certificate:get quota:get stats:get_all federation:get federation:get_all federation:detail`,
		"rule:admin_api": `cluster:delete_all_projects cluster:detail_all_projects cluster:get_all_all_projects cluster:get_one_all_projects
			cluster:update_all_projects cluster:upgrade_all_projects clustertemplate:delete_all_projects clustertemplate:detail_all_projects
			clustertemplate:get_all_all_projects clustertemplate:get_one_all_projects clustertemplate:update_all_projects
			nodegroup:get_all_all_projects nodegroup:get_one_all_projects quota:get_all quota:create quota:update quota:delete`,
	} {
		for _, name := range strings.Fields(names) {
			rules[name] = rule
		}
	}
	return rules
}
