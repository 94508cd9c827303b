package capo

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/addons/openstackcluster"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/kube"
)

// nodeCIDR is the subnet of every cluster here.
const nodeCIDR = "10.61.0.0/24"

// extraRules are rules of each kind, on a load balancer of OVN.
const extraRules = `
apiServer: {loadBalancerProvider: ovn}
clusterNetworking:
  allNodesSecurityGroupRules:
    - {name: all, direction: ingress, etherType: IPv4, protocol: tcp, portRangeMin: 22, portRangeMax: 22, remoteIPPrefix: 192.0.2.0/24}
  controlPlaneNodesSecurityGroupRules:
    - {name: planes, direction: ingress, etherType: IPv4, protocol: udp, portRangeMin: 4000, portRangeMax: 4000, remoteIPPrefix: 192.0.2.0/24}
  workerNodesSecurityGroupRules:
    - {name: workers, direction: ingress, etherType: IPv4, protocol: tcp, portRangeMin: 9000, portRangeMax: 9010, remoteIPPrefix: 192.0.2.0/24}
`

// TestNetworksOfTheChart has Cluster API and CAPO make what the chart's values
// say of the way to the API and to the nodes, and asks Octavia and Neutron.
//
// proves: F31, F39, F91, F92, S-50
func TestNetworksOfTheChart(t *testing.T) {
	p := newProject(t)
	m := newManagement(t)
	image := p.bootless(unique())
	// One after the other: five at once need more security groups than a project
	// may have by default.
	with := func(values string, look func(*cluster)) {
		c := &cluster{project: p, management: m, name: unique()}
		c.chart(image, values)
		defer c.delete()
		look(c)
	}
	with(`apiServer: {allowedCIDRs: [198.51.100.0/24, 203.0.113.7/32]}`, func(c *cluster) {
		c.expectOutside()
		c.expectAllowed("198.51.100.0/24", "203.0.113.7/32")
		c.chart(image, `apiServer: {allowedCIDRs: [192.0.2.0/24]}`)
		c.expectAllowed("192.0.2.0/24")
		if lb := c.apiBalancer(); lb.Provider != "amphora" {
			t.Errorf("the load balancer is of %s, not of the default", lb.Provider)
		}
	})
	with(`apiServer: {allowedCidrs: [198.51.100.0/24]}`, func(c *cluster) { c.expectAllowed("198.51.100.0/24") })
	with(`apiServer: {associateFloatingIP: false}`, (*cluster).expectInside)
	with(`apiServer: {allowedCIDRs: [none]}`, (*cluster).expectInside)
	with(extraRules, func(c *cluster) {
		if lb := c.apiBalancer(); lb.Provider != "ovn" {
			t.Errorf("the load balancer is of %s, not of OVN", lb.Provider)
		}
		c.expectRules()
	})
}

// chart makes, or changes, the cluster of the chart with these values: its
// network, not its machines.
func (c *cluster) chart(image, text string) {
	c.Helper()
	values := map[string]any{}
	fixed := fmt.Sprintf("{kubernetesVersion: %s, machineImageId: %s, controlPlane: {machineFlavor: %s}, nodeGroups: []}", strings.TrimPrefix(component.KubernetesVersion, "v"), image, c.flavor())
	if c.clouds == nil {
		c.clouds = c.credential(c.name)
	}
	for _, part := range []string{fixed, string(c.clouds), text} {
		if err := yaml.Unmarshal([]byte(part), &values); err != nil {
			c.Fatal(err)
		}
	}
	networking, _ := values["clusterNetworking"].(map[string]any)
	if networking == nil {
		networking = map[string]any{}
	}
	networking["internalNetwork"] = map[string]any{"nodeCidr": nodeCIDR}
	values["clusterNetworking"] = networking
	if err := openstackcluster.Check(values); err != nil {
		c.Fatal(err)
	}
	rendered := need(openstackcluster.Render(openstackcluster.Release{Name: c.name, Values: values}))(c)
	objects := need(kube.Decode(strings.NewReader(rendered)))(c)
	kept := slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetName() != c.name && o.GetName() != c.name+"-cloud-credentials"
	})
	for _, object := range kept {
		object.SetNamespace("default")
		if object.GetKind() == "Cluster" { // no provider of control planes runs here
			unstructured.RemoveNestedField(object.Object, "spec", "controlPlaneRef")
		}
	}
	if err := c.management.kube.ApplyObjects(c.Context(), kept); err != nil {
		c.Fatal(err)
	}
}

// apiBalancer is the load balancer of the API.
func (c *cluster) apiBalancer() *loadbalancers.LoadBalancer {
	c.Helper()
	below := c.provisioned(infrastructureAPI, "OpenStackCluster", c.name)
	return need(loadbalancers.Get(c.Context(), c.balancer, c.text(below, "status", "apiServerLoadBalancer", "id")).Extract())(c)
}

// addresses are the floating IPs of a port.
func (c *cluster) addresses(port string) (all []string) {
	c.Helper()
	pages := need(floatingips.List(c.network, floatingips.ListOpts{PortID: port}).AllPages(c.Context()))(c)
	for _, address := range need(floatingips.ExtractFloatingIPs(pages))(c) {
		all = append(all, address.FloatingIP)
	}
	return all
}

func (c *cluster) endpoint() string {
	c.Helper()
	return c.text(c.provisioned(infrastructureAPI, "OpenStackCluster", c.name), "spec", "controlPlaneEndpoint", "host")
}

// expectInside wants the API at the load balancer's own address, for all who
// are there.
func (c *cluster) expectInside() {
	c.Helper()
	lb := c.apiBalancer()
	if endpoint := c.endpoint(); endpoint != lb.VipAddress {
		c.Errorf("the endpoint is %s, the load balancer's address %s", endpoint, lb.VipAddress)
	}
	if addresses := c.addresses(lb.VipPortID); len(addresses) != 0 {
		c.Errorf("the load balancer has the floating IPs %q", addresses)
	}
	if allowed := c.allowed(lb.ID); len(allowed) != 0 {
		c.Errorf("the listener has the ranges %q", allowed)
	}
}

// expectOutside wants it at a floating IP.
func (c *cluster) expectOutside() {
	c.Helper()
	lb := c.apiBalancer()
	if addresses := c.addresses(lb.VipPortID); len(addresses) != 1 || addresses[0] != c.endpoint() {
		c.Errorf("the endpoint is %s, the floating IPs are %q", c.endpoint(), addresses)
	}
}

// allowed are the ranges of the API's listener.
func (c *cluster) allowed(balancer string) []string {
	c.Helper()
	pages := need(listeners.List(c.balancer, listeners.ListOpts{LoadbalancerID: balancer}).AllPages(c.Context()))(c)
	all := need(listeners.ExtractListeners(pages))(c)
	if len(all) != 1 {
		c.Fatalf("load balancer %s has %d listeners, want 1", balancer, len(all))
	}
	return slices.Sorted(slices.Values(all[0].AllowedCIDRs))
}

// expectAllowed waits until these ranges reach the API, and besides only what
// CAPO adds, without which the nodes could not: their subnet and their router.
func (c *cluster) expectAllowed(ranges ...string) {
	c.Helper()
	below := c.provisioned(infrastructureAPI, "OpenStackCluster", c.name)
	routers, _, _ := unstructured.NestedStringSlice(below.Object, "status", "router", "ips")
	if len(routers) == 0 {
		c.Fatal("the router has no address")
	}
	want := append(slices.Clone(ranges), nodeCIDR)
	for _, address := range routers {
		want = append(want, strings.TrimSuffix(address, "/32")+"/32")
	}
	slices.Sort(want)
	balancer := c.text(below, "status", "apiServerLoadBalancer", "id")
	eventually(c.T, "the ranges of the API's listener", time.Minute, func() error {
		if got := c.allowed(balancer); !slices.Equal(got, want) {
			return fmt.Errorf("they are %q, want %q", got, want)
		}
		return nil
	})
}

// expectRules looks for the rules of extraRules, and for what OVN needs.
func (c *cluster) expectRules() {
	c.Helper()
	const all, planes, workers = "tcp 22-22 192.0.2.0/24", "udp 4000-4000 192.0.2.0/24", "tcp 9000-9010 192.0.2.0/24"
	const nodePortsTCP, nodePortsUDP = "tcp 30000-32767 0.0.0.0/0", "udp 30000-32767 0.0.0.0/0"
	below := c.provisioned(infrastructureAPI, "OpenStackCluster", c.name)
	for group, want := range map[string]map[string]bool{
		"controlPlaneSecurityGroup": {all: true, planes: true, workers: false, nodePortsTCP: false, nodePortsUDP: false},
		"workerSecurityGroup":       {all: true, planes: false, workers: true, nodePortsTCP: true, nodePortsUDP: true},
	} {
		pages := need(rules.List(c.network, rules.ListOpts{SecGroupID: c.text(below, "status", group, "id")}).AllPages(c.Context()))(c)
		var got []string
		for _, rule := range need(rules.ExtractRules(pages))(c) {
			if rule.Direction == string(rules.DirIngress) {
				got = append(got, fmt.Sprintf("%s %d-%d %s", rule.Protocol, rule.PortRangeMin, rule.PortRangeMax, rule.RemoteIPPrefix))
			}
		}
		for rule, is := range want {
			if slices.Contains(got, rule) != is {
				c.Errorf("%s: %s is there: %t, want %t, among %q", group, rule, !is, is, got)
			}
		}
	}
}
