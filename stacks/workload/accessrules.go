package workload

import (
	"net/http"

	"github.com/slipway-sh/slipway/stacks/openstack"
)

// Two credentials of a cluster differ in what they may do, so that whoever reads the one on
// the cluster cannot create servers with it. Paths begin with ** because some clouds have
// their services below a prefix.

// Separate has clusters get two credentials: that of Cluster API with the rules of the
// environment's, if it has any, and one for what runs on the cluster, with these rules or, if
// there are none, those that suffice.
func (c *Cloud) Separate(cloudProvider []openstack.AccessRule) {
	if len(c.AccessRules) == 0 {
		c.AccessRules = InfrastructureRules()
	}
	if c.CloudProvider = cloudProvider; len(cloudProvider) == 0 {
		c.CloudProvider = CloudProviderRules()
	}
}

// InfrastructureRules are access rules that suffice for Cluster API's OpenStack provider and
// the janitor.
func InfrastructureRules() []openstack.AccessRule {
	var rules []openstack.AccessRule
	for _, service := range append([]string{"compute", "network", "load-balancer"}, blockStorage()...) {
		rules = append(rules, allow(service, "/**", everyMethod()...)...)
	}
	rules = append(rules, allow("image", "/**", http.MethodGet)...)
	return append(rules, ownToken()...)
}

// CloudProviderRules are access rules that suffice for the cloud controller manager and the
// CSI drivers: they attach volumes to servers, but create and delete none.
func CloudProviderRules() []openstack.AccessRule {
	rules := allow("compute", "/**", http.MethodGet)
	rules = append(rules, allow("compute", "/**/servers/*/os-volume_attachments**", http.MethodPost, http.MethodDelete)...)
	rules = append(rules, allow("network", "/**", http.MethodGet)...)
	for _, kind := range []string{"floatingips", "security-groups", "security-group-rules"} {
		rules = append(rules, allow("network", "/**/"+kind+"**", http.MethodPost, http.MethodPut, http.MethodDelete)...)
	}
	rules = append(rules, allow("network", "/**/ports/*", http.MethodPut)...)
	for _, service := range append([]string{"load-balancer", "sharev2", "shared-file-system"}, blockStorage()...) {
		rules = append(rules, allow(service, "/**", everyMethod()...)...)
	}
	rules = append(rules, allow("key-manager", "/**", http.MethodGet)...)
	return append(rules, ownToken()...)
}

// ownToken lets a credential ask Keystone about its own token: Cluster API's OpenStack provider
// finds its project so, and does nothing without an answer.
func ownToken() []openstack.AccessRule {
	return allow("identity", "/**/auth/tokens", http.MethodGet)
}

// blockStorage are the types of Cinder. Which of them the service compares with is its own
// setting, not the catalog's.
func blockStorage() []string { return []string{"block-storage", "volumev3"} }

func everyMethod() []string {
	return []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete}
}

func allow(service, path string, methods ...string) []openstack.AccessRule {
	var rules []openstack.AccessRule
	for _, method := range methods {
		rules = append(rules, openstack.AccessRule{Service: service, Method: method, Path: path})
	}
	return rules
}
