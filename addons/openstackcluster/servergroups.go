package openstackcluster

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/fault"
)

// ServerGroups are the policies of the server groups that the chart makes for a release, by
// their names in OpenStack, and where those policies are in the values.
func ServerGroups(r Release) (policies, paths map[string]string, err error) {
	loaded, err := Chart()
	if err != nil {
		return nil, nil, err
	}
	values, err := chartutil.CoalesceValues(loaded, r.Values)
	if err != nil {
		return nil, nil, fmt.Errorf("merging values with the chart's: %w", err)
	}
	if r.Namespace == "" {
		r.Namespace = "default"
	}
	policies, paths = map[string]string{}, map[string]string{}
	add := func(path, role, policy string) {
		name := fmt.Sprintf("k8s-%s-%s-%s", r.Namespace, strings.TrimSuffix(r.Name[:min(len(r.Name), 63)], "-"), role)
		if policy != "" {
			policies[name], paths[name] = policy, path+".serverGroup.policy"
		}
	}
	plane, _ := values["controlPlane"].(map[string]any)
	add("controlPlane", "control-plane", groupPolicy(plane, nil))
	defaults, _ := values["nodeGroupDefaults"].(map[string]any)
	groups, _ := values["nodeGroups"].([]any)
	for _, entry := range groups {
		group, _ := entry.(map[string]any)
		name, _ := group["name"].(string)
		add("nodeGroups["+name+"]", name, groupPolicy(group, defaults))
	}
	return policies, paths, nil
}

// groupPolicy is the policy of the server group that is made for machines, their own settings
// over the defaults as the chart merges them: null is their own, too. It is "" if none is made.
func groupPolicy(own, defaults map[string]any) string {
	id, given := own["serverGroupId"]
	if !given {
		id = defaults["serverGroupId"]
	}
	if text, _ := id.(string); text != "" {
		return ""
	}
	under, _ := defaults["serverGroup"].(map[string]any)
	policy := under["policy"]
	if group, given := own["serverGroup"]; given {
		over, isMap := group.(map[string]any)
		if value, given := over["policy"]; given || !isMap {
			policy = value
		}
	}
	text, _ := policy.(string)
	return text
}

// Policies are those of the resource controller's server groups, by their names in OpenStack.
func Policies(groups []*unstructured.Unstructured) map[string]string {
	has := map[string]string{}
	for _, group := range groups {
		name, _, _ := unstructured.NestedString(group.Object, "spec", "resource", "name")
		has[name], _, _ = unstructured.NestedString(group.Object, "spec", "resource", "policy")
	}
	return has
}

// CheckServerGroups refuses values that would change the policies of server groups that are
// there. Neither Nova nor the resource controller changes one, and Helm would find that out when
// it has changed a part of the cluster. under is put before the path of the values.
func CheckServerGroups(r Release, has map[string]string, under string) error {
	policies, paths, err := ServerGroups(r)
	if err != nil {
		return err
	}
	var all []error
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		if was := has[name]; was != "" && was != policies[name] {
			all = append(all, fault.Usage(under+paths[name], fmt.Errorf("server group %s has the policy %s, and a cloud cannot change that to %s", name, was, policies[name]),
				"leave the policy as it is; or make a server group with the other one, and give its name in serverGroup.name instead of a policy, which replaces the machines"))
		}
	}
	return errors.Join(all...)
}
