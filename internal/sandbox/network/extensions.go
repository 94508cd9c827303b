package network

import (
	"net/http"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
)

// extensionView is a part of the API that clouds may lack.
type extensionView struct {
	Alias       string   `json:"alias"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Updated     string   `json:"updated"`
	Links       []string `json:"links"`
}

// aliases are the extensions that this service has, by name.
func aliases() []extensionView {
	names := map[string]string{
		"address-group": "Address group", "address-scope": "Address scope", "agent": "agent",
		"allowed-address-pairs": "Allowed Address Pairs", "availability_zone": "Availability Zone",
		"availability_zone_filter": "Availability Zone Filter Extension", "binding": "Port Binding",
		"default-subnetpools": "Default Subnetpools", "dns-domain-ports": "dns_domain for ports",
		"dns-integration": "DNS Integration", "dvr": "Distributed Virtual Router", "empty-string-filtering": "Empty String Filtering Extension",
		"expose-port-forwarding-in-fip": "Expose Port Forwarding in FIP", "ext-gw-mode": "Neutron L3 Configurable external gateway mode",
		"external-net": "Neutron external network", "extra_dhcp_opt": "Neutron Extra DHCP options", "extraroute": "Neutron Extra Route",
		"extraroute-atomic": "Atomically add/remove extra routes", "filter-validation": "Filter parameters validation",
		"fip-port-details":                        "Floating IP Port Details Extension",
		"floating-ip-port-forwarding":             "Floating IP Port Forwarding",
		"floating-ip-port-forwarding-detail":      "Floating IP Port Forwarding Detail",
		"floating-ip-port-forwarding-port-ranges": "Floating IP Port Forwarding support range of ports",
		"ip_allocation":                           "IP Allocation",
		"ip-substring-filtering":                  "IP address substring filtering", "l3-ha": "HA Router extension", "multi-provider": "Multi Provider Network",
		"net-mtu": "Network MTU", "net-mtu-writable": "Network MTU (writable)", "network-ip-availability": "Network IP Availability",
		"network_availability_zone": "Network Availability Zone", "pagination": "Pagination support",
		"port-mac-address-override": "Port MAC address override", "port-security": "Port Security", "project-id": "project_id field enabled",
		"provider": "Provider Network", "qos": "Quality of Service", "qos-bw-limit-direction": "Direction for QoS bandwidth limit rule",
		"qos-default": "QoS default policy", "qos-fip": "Floating IP QoS", "qos-rule-type-details": "Details of QoS rule types",
		"quota_details": "Quota details management support", "quotas": "Quota management support", "rbac-policies": "RBAC Policies",
		"rbac-address-scope": "Add address_scope type to RBAC", "rbac-security-groups": "Add security_group type to network RBAC",
		"rbac-subnetpool": "Add subnetpool type to RBAC", "revision-if-match": "If-Match constraints based on revision_number",
		"router": "Neutron L3 Router", "router_availability_zone": "Router Availability Zone", "security-group": "security-group",
		"security-groups-normalized-cidr":             "Normalized CIDR field for security group rules",
		"security-groups-remote-address-group":        "Remote address group id field for security group rules",
		"security-groups-rules-belongs-to-default-sg": "Belongs to default SG field for security group rules",
		"security-groups-shared-filtering":            "Security group filtering on the shared field",
		"segment":                                     "Segment", "sorting": "Sorting support",
		"standard-attr-description": "standard-attr-description", "standard-attr-revisions": "Resource revision numbers",
		"standard-attr-tag":       "Tag support for resources with standard attribute: network, port, router, floatingip, security_group, subnet, subnetpool, trunk, policy",
		"standard-attr-timestamp": "Resource timestamps", "stateful-security-group": "Stateful security group",
		"subnet-external-network": "Subnet belongs to external network", "subnet-service-types": "Subnet service types",
		"subnet_allocation": "Subnet Allocation", "tag-ports-during-bulk-creation": "Tag Ports During Bulk Creation",
		"trunk": "Trunk Extension", "trunk-details": "Trunk port details", "uplink-status-propagation": "Port uplink status propagation",
	}
	views := make([]extensionView, 0, len(names))
	for alias, name := range names {
		views = append(views, extensionView{Alias: alias, Name: name, Description: name + ".", Updated: "2024-01-01T10:00:00-00:00", Links: []string{}})
	}
	slices.SortFunc(views, func(a, b extensionView) int { return strings.Compare(a.Alias, b.Alias) })
	return views
}

func listExtensions(c *api.Call) error {
	return api.List[extensionView]{Key: "extensions", ID: func(v extensionView) string { return v.Alias }}.
		Reply(c, slices.Values(aliases()))
}

func showExtension(c *api.Call) error {
	for _, view := range aliases() {
		if view.Alias == c.Path("alias") {
			return c.Reply(http.StatusOK, map[string]any{"extension": view})
		}
	}
	return api.Errorf(http.StatusNotFound, "HTTPNotFound", "Extension with alias %s does not exist", c.Path("alias"))
}
