package openstackcluster

import (
	"errors"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/fault"
)

// TestFamiliesOfNetworks: both families work on a network that has both; what cannot work is
// told before anything is made.
//
// proves: S-86
func TestFamiliesOfNetworks(t *testing.T) {
	t.Parallel()
	const own = "clusterNetworking: {internalNetwork: {networkFilter: {name: dual}}}\n"
	for name, c := range map[string]struct{ values, object, words string }{
		"IPv4":                       {"kubeNetwork: {pods: {cidrBlocks: [10.1.0.0/16]}, services: {cidrBlocks: [10.2.0.0/16]}}", "", ""},
		"dual stack":                 {own + "kubeNetwork: {pods: {cidrBlocks: [10.1.0.0/16, 'fd00:1::/48']}, services: {cidrBlocks: [10.2.0.0/16, 'fd00:2::/108']}}", "", ""},
		"IPv6 first":                 {own + "kubeNetwork: {pods: {cidrBlocks: ['fd00:1::/48', 10.1.0.0/16]}, services: {cidrBlocks: ['fd00:2::/108', 10.2.0.0/16]}}", "", ""},
		"IPv6 only":                  {own + "kubeNetwork: {pods: {cidrBlocks: ['fd00:1::/48']}, services: {cidrBlocks: ['fd00:2::/108']}}", "", ""},
		"by a subnet alone":          {"clusterNetworking: {internalNetwork: {subnetFilter: {name: six}}}\nkubeNetwork: {pods: {cidrBlocks: [10.1.0.0/16, 'fd00:1::/48']}, services: {cidrBlocks: [10.2.0.0/16, 'fd00:2::/108']}}", "", ""},
		"on a network that is made":  {"kubeNetwork: {pods: {cidrBlocks: [10.1.0.0/16, 'fd00:1::/48']}, services: {cidrBlocks: [10.2.0.0/16, 'fd00:2::/108']}}", "kubeNetwork.pods.cidrBlocks", "nodes with IPv6"},
		"nodes of IPv6":              {"clusterNetworking: {internalNetwork: {nodeCidr: 'fd00:3::/64'}}", "clusterNetworking.internalNetwork.nodeCidr", "IPv4 only"},
		"nodes of nothing":           {"clusterNetworking: {internalNetwork: {nodeCidr: 192.168.3.0}}", "clusterNetworking.internalNetwork.nodeCidr", "not a network"},
		"Services of another family": {own + "kubeNetwork: {pods: {cidrBlocks: ['fd00:1::/48']}, services: {cidrBlocks: [10.2.0.0/16]}}", "kubeNetwork.services.cidrBlocks", "pods have IPv6, but Services have IPv4"},
		"in another order":           {own + "kubeNetwork: {pods: {cidrBlocks: [10.1.0.0/16, 'fd00:1::/48']}, services: {cidrBlocks: ['fd00:2::/108', 10.2.0.0/16]}}", "kubeNetwork.services.cidrBlocks", "IPv6 and IPv4"},
		"two of a family":            {own + "kubeNetwork: {pods: {cidrBlocks: ['fd00:1::/48', 'fd00:2::/48']}}", "kubeNetwork.pods.cidrBlocks[1]", "second one of IPv6"},
		"no network":                 {"kubeNetwork: {services: {cidrBlocks: [10.2.0.0]}}", "kubeNetwork.services.cidrBlocks[0]", "not a network"},
	} {
		err := Check(values(t, minimal, c.values))
		if c.object == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var f *fault.Fault
		if all := fault.All(err); len(all) != 1 || !errors.As(all[0], &f) || f.Object != c.object || f.Remedy == "" || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := Check(values(t, minimal, "kubeNetwork: {pods: {cidrBlocks: [x]}, services: {cidrBlocks: [y]}}\nfoo: 1"))
	if all := fault.All(err); len(all) != 3 {
		t.Errorf("all at once: %v", err)
	}
}
