package openstackcluster

import (
	"fmt"
	"reflect"
	"testing"
)

// TestAllowedCIDRs takes both spellings of the key.
func TestAllowedCIDRs(t *testing.T) {
	t.Parallel()
	for text, list := range map[string]string{
		`apiServer: {allowedCIDRs: [192.0.2.0/24]}`:                          `[192.0.2.0/24]`,
		`apiServer: {allowedCidrs: [192.0.2.0/24, 10.0.0.0/8]}`:              `[192.0.2.0/24, 10.0.0.0/8]`,
		`apiServer: {allowedCIDRs: [10.0.0.0/8], allowedCidrs: [0.0.0.0/0]}`: `[10.0.0.0/8]`,
		`{}`: `null`,
	} {
		want(t, render(t, text).get(t, "OpenStackCluster"), list, "spec", "apiServerLoadBalancer", "allowedCIDRs")
	}
}

// TestChangedCIDRs reach the cluster that there is, without a new name or a new
// machine; "none" is inside only.
func TestChangedCIDRs(t *testing.T) {
	t.Parallel()
	cluster := func(list string) objects { return render(t, `apiServer: {allowedCIDRs: [`+list+`]}`) }
	before, after := cluster("192.0.2.0/24"), cluster("192.0.2.0/24, 198.51.100.7/32")
	if len(before) != len(after) {
		t.Errorf("%d objects became %d", len(before), len(after))
	}
	for name := range before {
		changed := !reflect.DeepEqual(before.get(t, name), after.get(t, name))
		if changed != (name == "OpenStackCluster") {
			t.Errorf("%s: changed %v", name, changed)
		}
	}
	spec := at(after.get(t, "OpenStackCluster"), "spec")
	want(t, spec, `[192.0.2.0/24, 198.51.100.7/32]`, "apiServerLoadBalancer", "allowedCIDRs")
	want(t, spec, `false`, "disableAPIServerFloatingIP")
	inside := at(cluster("none").get(t, "OpenStackCluster"), "spec")
	want(t, inside, `true`, "disableAPIServerFloatingIP")
	want(t, inside, `null`, "apiServerLoadBalancer", "allowedCIDRs")
}

// TestAllowedCIDRsInEveryNamespace wants the list wherever the release is.
//
// proves: S-51
func TestAllowedCIDRsInEveryNamespace(t *testing.T) {
	t.Parallel()
	for _, namespace := range []string{"", "default", "cluster", "magnum-0123456789abcdef0123456789abcdef"} {
		given := values(t, minimal, `apiServer: {allowedCIDRs: [192.0.2.0/24, 10.0.0.0/8]}`)
		cloud := renderRelease(t, Release{Name: "c1", Namespace: namespace, Values: given}).get(t, "OpenStackCluster")
		want(t, cloud, `[192.0.2.0/24, 10.0.0.0/8]`, "spec", "apiServerLoadBalancer", "allowedCIDRs")
	}
}

// TestPodNetworkRules opens between the nodes what the pod network needs, where
// not everything is open there.
//
// proves: S-41
func TestPodNetworkRules(t *testing.T) {
	t.Parallel()
	for cni, ports := range map[string][]string{
		"cilium":  {"udp 8472", "tcp 4240", "tcp 4244"},
		"flannel": {"udp 8472"},
		"calico":  {"tcp 179", "4 <nil>", "udp 4789", "tcp 5473"},
	} {
		all := render(t, `{clusterNetworking: {allowAllInClusterTraffic: false, allNodesSecurityGroupRules: [{name: mine, direction: ingress, protocol: tcp}]}, addons: {cni: {type: `+cni+`}}}`)
		rules, _ := at(all.get(t, "OpenStackCluster"), "spec", "managedSecurityGroups", "allNodesSecurityGroupRules").([]any)
		if len(rules) != len(ports)+1 {
			t.Fatalf("%s: rules %v", cni, rules)
		}
		for i, port := range ports {
			if got := fmt.Sprint(at(rules[i], "protocol"), " ", at(rules[i], "portRangeMin")); got != port || at(rules[i], "portRangeMax") != at(rules[i], "portRangeMin") {
				t.Errorf("%s: rule %v, want %s", cni, rules[i], port)
			}
			if at(rules[i], "remoteIPPrefix") != nil {
				t.Errorf("%s: open to others: %v", cni, rules[i])
			}
			want(t, rules[i], `[controlplane, worker]`, "remoteManagedGroups")
		}
	}
	for name, text := range map[string]string{"all is open": `{addons: {cni: {type: cilium}}}`, "no CNI": `{clusterNetworking: {allowAllInClusterTraffic: false}, addons: {cni: {enabled: false}}}`} {
		if got := at(render(t, text).get(t, "OpenStackCluster"), "spec", "managedSecurityGroups", "allNodesSecurityGroupRules"); got != nil {
			t.Errorf("%s: rules %v", name, got)
		}
	}
}

func TestSecurityGroupRules(t *testing.T) {
	t.Parallel()
	const rule = `{name: r, direction: ingress, etherType: IPv4, protocol: tcp, portRangeMin: 1, portRangeMax: 2, remoteIPPrefix: 10.0.0.0/8}`
	groups := at(render(t, `clusterNetworking: {controlPlaneNodesSecurityGroupRules: [`+rule+`], workerNodesSecurityGroupRules: [`+rule+`], allNodesSecurityGroupRules: [`+rule+`]}`).
		get(t, "OpenStackCluster"), "spec", "managedSecurityGroups")
	want(t, groups, `{allowAllInClusterTraffic: true, controlPlaneNodesSecurityGroupRules: [`+rule+`], workerNodesSecurityGroupRules: [`+rule+`], allNodesSecurityGroupRules: [`+rule+`]}`)

	ovn := at(render(t, `{apiServer: {loadBalancerProvider: ovn}, clusterNetworking: {allowAllInClusterTraffic: false, workerNodesSecurityGroupRules: [`+rule+`]}}`).get(t, "OpenStackCluster"), "spec")
	want(t, ovn, `ovn`, "apiServerLoadBalancer", "provider")
	want(t, ovn, `false`, "managedSecurityGroups", "allowAllInClusterTraffic")
	want(t, ovn, `r`, "managedSecurityGroups", "workerNodesSecurityGroupRules", 0, "name")
	for i, protocol := range []string{"tcp", "udp"} {
		want(t, ovn, protocol, "managedSecurityGroups", "workerNodesSecurityGroupRules", i+1, "protocol")
		want(t, ovn, `30000`, "managedSecurityGroups", "workerNodesSecurityGroupRules", i+1, "portRangeMin")
	}
	services := at(render(t, `addons: {openstack: {cloudConfig: {LoadBalancer: {lb-provider: ovn}}}}`).get(t, "OpenStackCluster"), "spec")
	want(t, services, `null`, "apiServerLoadBalancer", "provider")
	want(t, services, `32767`, "managedSecurityGroups", "workerNodesSecurityGroupRules", 0, "portRangeMax")
	want(t, render(t).get(t, "OpenStackCluster"), `null`, "spec", "managedSecurityGroups", "workerNodesSecurityGroupRules")
	want(t, render(t, `clusterNetworking: {manageSecurityGroups: false}`).get(t, "OpenStackCluster"), `null`, "spec", "managedSecurityGroups")
}

// TestNetworks are made, or there already, in either spelling of filters.
func TestNetworks(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct{ network, subnets, managed string }{
		`{}`: {`null`, `null`, `[{cidr: 192.168.3.0/24}]`},
		`{dnsNameservers: [192.0.2.1], internalNetwork: {nodeCidr: 10.0.0.0/24}}`:                                                  {`null`, `null`, `[{cidr: 10.0.0.0/24, dnsNameservers: [192.0.2.1]}]`},
		`{dnsNameservers: [192.0.2.1], internalNetwork: {dnsNameservers: [192.0.2.2]}}`:                                            {`null`, `null`, `[{cidr: 192.168.3.0/24, dnsNameservers: [192.0.2.2]}]`},
		`{internalNetwork: {networkFilter: {id: net}, subnetFilter: {id: sub}}}`:                                                   {`{id: net}`, `[{id: sub}]`, `null`},
		`{internalNetwork: {networkFilter: {name: n, projectId: p, tags: "a,b", notTagsAny: c}}}`:                                  {`{filter: {name: n, projectID: p, tags: [a, b], notTagsAny: [c]}}`, `null`, `null`},
		`{internalNetwork: {networkFilter: {filter: {name: n, tags: [a]}}}}`:                                                       {`{filter: {name: n, tags: [a]}}`, `null`, `null`},
		`{internalNetwork: {networkFilter: {id: null}, subnetFilter: {id: null}}}`:                                                 {`null`, `null`, `[{cidr: 192.168.3.0/24}]`},
		`{internalNetwork: {networkFilter: {id: net}, subnetFilter: {cidr: 10.0.0.0/8, gateway_ip: 10.0.0.1, ipv6RaMode: slaac}}}`: {`{id: net}`, `[{filter: {cidr: 10.0.0.0/8, gatewayIP: 10.0.0.1, ipv6RAMode: slaac}}]`, `null`},
	} {
		cloud := render(t, `clusterNetworking: `+text).get(t, "OpenStackCluster")
		want(t, cloud, c.network, "spec", "network")
		want(t, cloud, c.subnets, "spec", "subnets")
		want(t, cloud, c.managed, "spec", "managedSubnets")
	}
	outside := render(t, `{clusterNetworking: {externalNetworkId: ext, disableExternalNetwork: true, router: {name: r}}}`).get(t, "OpenStackCluster")
	want(t, outside, `{id: ext}`, "spec", "externalNetwork")
	want(t, outside, `true`, "spec", "disableExternalNetwork")
	want(t, outside, `{filter: {name: r}}`, "spec", "router")
}

// TestAPIServer is reached by a load balancer and a floating IP, or not.
func TestAPIServer(t *testing.T) {
	t.Parallel()
	cloud := render(t, `{apiServer: {enableLoadBalancer: false, associateFloatingIP: false, fixedIP: 10.0.0.5, port: 443}, controlPlaneEndpoint: {host: api.example.com, port: 443}}`)
	spec := at(cloud.get(t, "OpenStackCluster"), "spec")
	want(t, spec, `{enabled: false}`, "apiServerLoadBalancer")
	want(t, spec, `true`, "disableAPIServerFloatingIP")
	want(t, spec, `10.0.0.5`, "apiServerFixedIP")
	want(t, spec, `443`, "apiServerPort")
	want(t, spec, `{host: api.example.com, port: 443}`, "controlPlaneEndpoint")
	want(t, cloud.get(t, "Cluster"), `443`, "spec", "clusterNetwork", "apiServerPort")
	want(t, render(t, `apiServer: {floatingIP: 203.0.113.9}`).get(t, "OpenStackCluster"), `203.0.113.9`, "spec", "apiServerFloatingIP")
}

// TestFailureDomains of control planes are CAPO's, of groups the machines'.
func TestFailureDomains(t *testing.T) {
	t.Parallel()
	want(t, render(t).get(t, "OpenStackCluster"), `true`, "spec", "controlPlaneOmitAvailabilityZone")
	spread := render(t, `{controlPlane: {omitFailureDomain: false, failureDomains: [a, b]}, nodeGroupDefaults: {failureDomain: a}}`)
	want(t, spread.get(t, "OpenStackCluster"), `null`, "spec", "controlPlaneOmitAvailabilityZone")
	want(t, spread.get(t, "OpenStackCluster"), `[a, b]`, "spec", "controlPlaneAvailabilityZones")
	want(t, spread.get(t, "MachineDeployment md-0"), `a`, "spec", "template", "spec", "failureDomain")
}

// TestCredentials are rendered under the one name that all look for.
//
// proves: F71, F72
func TestCredentials(t *testing.T) {
	t.Parallel()
	all := render(t, `
cloudCredentialsSecretName: null
cloudName: prod
cloudCACert: PEM
clouds: {prod: {auth: {auth_url: "https://k", project_id: p}, region_name: one}, other: {auth: {auth_url: x}}}
`)
	want(t, all.get(t, "OpenStackCluster"), `{name: c1-cloud-credentials, cloudName: openstack}`, "spec", "identityRef")
	want(t, values(t, secret(t, all, "cloud-credentials", "clouds.yaml")), `{clouds: {openstack: {auth: {auth_url: "https://k", project_id: p}, region_name: one}}}`)
	if got := secret(t, all, "cloud-credentials", "cacert"); got != "PEM" {
		t.Errorf("cacert %q", got)
	}
	refuse(t, `{cloudCredentialsSecretName: null, clouds: {a: {}, b: {}}}`, `no cloud "openstack"`, "a, b")
	refuse(t, `cloudCredentialsSecretName: null`, "clouds", "cloudCredentialsSecretName")
}
