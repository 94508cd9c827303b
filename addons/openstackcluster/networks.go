package openstackcluster

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-sh/slipway/internal/fault"
)

// checkNetworks refuses networks of a cluster that its machines or Cluster API's OpenStack
// provider could not have. Findings are by path.
func checkNetworks(values map[string]any, findings map[string]error) {
	note := func(path, remedy, format string, args ...any) {
		if findings[path] == nil {
			findings[path] = fault.Usage(path, fmt.Errorf(format, args...), remedy)
		}
	}
	const pods, services, node = "kubeNetwork.pods.cidrBlocks", "kubeNetwork.services.cidrBlocks", "clusterNetworking.internalNetwork.nodeCidr"
	ofPods := families(values, note, pods, "kubeNetwork", "pods", "cidrBlocks")
	ofServices := families(values, note, services, "kubeNetwork", "services", "cidrBlocks")
	if ofPods != ofServices && ofPods != "" && ofServices != "" {
		note(services, "give both the same families in the same order", "pods have %s, but Services have %s", ofPods, ofServices)
	}
	for _, key := range []string{"networkFilter", "subnetFilter"} { // either names a network that is there
		existing, _, _ := unstructured.NestedFieldNoCopy(values, "clusterNetworking", "internalNetwork", key)
		if filter, _ := existing.(map[string]any); len(filter) > 0 {
			return
		}
	}
	cidr, _, _ := unstructured.NestedString(values, "clusterNetworking", "internalNetwork", "nodeCidr")
	prefix, err := netip.ParsePrefix(cidr)
	switch {
	case cidr == "":
	case err != nil:
		note(node, "write a network such as 192.168.3.0/24", "%q is not a network", cidr)
	case prefix.Addr().Is6():
		note(node, "write a network of IPv4, or name a network of yours in clusterNetworking.internalNetwork.networkFilter",
			"Cluster API's OpenStack provider creates subnets of IPv4 only")
	}
	if ofPods != "" && ofPods != ipv4 {
		note(pods, "name a network with a subnet of IPv6 in clusterNetworking.internalNetwork.networkFilter, or leave out IPv6",
			"pods with IPv6 need nodes with IPv6, but the network that is created for them has IPv4 only")
	}
}

const ipv4, ipv6 = "IPv4", "IPv6"

// families are those of a list of networks, in its order; "" if the list is not as it should be.
func families(values map[string]any, note func(path, remedy, format string, args ...any), path string, keys ...string) string {
	list, found, err := unstructured.NestedStringSlice(values, keys...)
	if err != nil || !found {
		return "" // the schema tells
	}
	var all string
	seen := map[string]bool{}
	for i, text := range list {
		prefix, err := netip.ParsePrefix(text)
		at := fmt.Sprintf("%s[%d]", path, i)
		if err != nil {
			note(at, "write a network such as 10.0.0.0/16 or fd00::/48", "%q is not a network", text)
			return ""
		}
		family := ipv4
		if prefix.Addr().Is6() {
			family = ipv6
		}
		if seen[family] {
			note(at, "keep one network of each family", "it is the second one of %s", family)
			return ""
		}
		seen[family] = true
		if all != "" {
			all += " and "
		}
		all += family
	}
	return all
}
