package cause

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// driftRules are about what Cluster API made in Neutron and somebody changed there, while it
// still exists.
func driftRules() []Rule {
	const n = "Neutron"
	return []Rule{
		{ID: "network-disabled", Layer: n, Ending: Outside, Meaning: "Somebody disabled the network or the router of the cluster.",
			Fix: "enable it with openstack network set --enable NETWORK or openstack router set --enable ROUTER", find: disabledNetwork},
		{ID: "subnet-changed", Layer: n, Ending: Outside, Meaning: "The subnet of the machines has no gateway or no DHCP any more, so machines get no address or reach nothing outside their network.",
			Fix: "set it again with openstack subnet set --dhcp SUBNET or openstack subnet set --gateway ADDRESS SUBNET; machines learn of it when they boot or renew their lease", find: changedSubnet},
		{ID: "subnet-differs", Layer: n, Ending: Passing, Meaning: "The subnet of the machines has other name servers or routes than the cluster's settings, or a subnet that the project brought has no gateway or no DHCP, and the cluster is not well.",
			Fix: "compare openstack subnet show SUBNET with spec.managedSubnets of the OpenStackCluster, and set it again with openstack subnet set --no-dns-nameservers --dns-nameserver ADDRESS SUBNET, or --no-host-route, --gateway ADDRESS or --dhcp", find: differentSubnet},
		{ID: "port-changed", Layer: n, Ending: Outside, Meaning: "Somebody took a port of a server out of the cluster's security groups, or took an address pair from it that the machine needs.",
			Fix: "set it again with openstack port set --security-group GROUP PORT or openstack port set --allowed-address ip-address=ADDRESS PORT", find: changedPort},
	}
}

// disabledNetwork are hits for the network and the router of the cluster.
func disabledNetwork(v *scene) []hit {
	const words = "it is disabled (admin_state_up is false)"
	var hits []hit
	tell := func(object Ref) {
		hits = append(hits, hit{object: v.under(v.infra(), object), cause: words, evidence: []string{"Neutron: " + object.String() + ": " + words}})
	}
	if id := text(v.infrastructure, "status", "network", "id"); id != "" && v.Cloud.knows(ListNetworks) && !v.ending() {
		for _, n := range v.Cloud.Networks {
			if n.ID == id && n.Disabled {
				tell(Ref{Kind: "network", Name: n.Name, ID: n.ID})
			}
		}
	}
	if r := v.router(); r != nil && r.Disabled {
		tell(Ref{Kind: "router", Name: r.Name, ID: r.ID})
	}
	return hits
}

// brought reports whether the subnets are the project's own instead of Cluster API's.
func (v *scene) brought() bool {
	for _, field := range []string{"network", "subnets"} {
		if given, found, _ := unstructured.NestedFieldNoCopy(content(v.infrastructure), "spec", field); found && given != nil {
			return true
		}
	}
	return false
}

// subnets are those of the machines.
func (v *scene) subnets() []Subnet {
	if v.infrastructure == nil || v.ending() || !v.Cloud.knows(ListSubnets) || !flag(v.infrastructure, "status", "ready") {
		return nil
	}
	noted, _, _ := nestedSlice(v.infrastructure.Object, "status", "network", "subnets")
	var own []Subnet
	for _, one := range noted {
		fields, _ := one.(map[string]any)
		for _, s := range v.Cloud.Subnets {
			if s.ID == fields["id"] && s.ID != "" {
				own = append(own, s)
			}
		}
	}
	return own
}

// subnetHits are hits for each subnet of the machines about which told says something.
func (v *scene) subnetHits(told func(Subnet) []string) []hit {
	var hits []hit
	for _, s := range v.subnets() {
		if words := strings.Join(told(s), "; "); words != "" {
			object := v.under(v.infra(), Ref{Kind: "subnet", Name: cmp.Or(s.Name, s.CIDR), ID: s.ID})
			hits = append(hits, hit{object: object, cause: words, evidence: []string{"Neutron: " + object.String() + ": " + words}})
		}
	}
	return hits
}

// changedSubnet are hits for what no subnet of Cluster API lacks when it is made.
func changedSubnet(v *scene) []hit {
	if v.brought() {
		return nil
	}
	return v.subnetHits(v.lacking)
}

// lacking is what a subnet lacks that machines commonly need.
func (v *scene) lacking(s Subnet) (words []string) {
	if s.Gateway == "" && !flag(v.infrastructure, "spec", "disableExternalNetwork") {
		words = append(words, "it has no gateway")
	}
	if !s.DHCP {
		words = append(words, "its DHCP is off")
	}
	return words
}

// differentSubnet are hits for what may be meant, and counts only while something is wrong.
func differentSubnet(v *scene) []hit {
	if len(v.spoken) == 0 && (v.Inside == nil || len(v.Inside.Pods) == 0) {
		return nil
	}
	settings := map[string][]string{}
	managed, _, _ := nestedSlice(content(v.infrastructure), "spec", "managedSubnets")
	for _, one := range managed {
		if fields, ok := one.(map[string]any); ok {
			cidr, _ := fields["cidr"].(string)
			settings[cidr], _, _ = unstructured.NestedStringSlice(fields, "dnsNameservers")
		}
	}
	if v.brought() { // how they are meant to be, only the project knows
		return v.subnetHits(v.lacking)
	}
	return v.subnetHits(func(s Subnet) (words []string) {
		if wanted, known := settings[s.CIDR]; known && !slices.Equal(sorted(wanted), sorted(s.NameServers)) {
			words = append(words, fmt.Sprintf("its name servers are %s instead of %s", listing(s.NameServers), listing(wanted)))
		}
		if len(s.Routes) > 0 { // Cluster API sets none
			words = append(words, "it sends machines the route "+strings.Join(s.Routes, ", "))
		}
		return words
	})
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func listing(list []string) string { return cmp.Or(strings.Join(list, ", "), "none") }

// changedPort are hits for servers of which no port has what its machine is to have.
func changedPort(v *scene) []hit {
	if !v.Cloud.knows(ListPorts) || v.ending() || !v.completeWhenAsked() {
		return nil
	}
	var hits []hit
	for _, m := range v.members {
		if m.machine == nil || m.nova == nil || m.nova.Status != "ACTIVE" || m.leaving() || !v.listed(m) {
			continue
		}
		ports := v.Cloud.portsOf(m.nova.ID)
		if len(ports) == 0 {
			continue
		}
		for _, words := range []string{v.ungrouped(m, ports), unpaired(m, ports)} {
			if words != "" {
				object := v.under(m.ref(), Ref{Kind: "port", Name: cmp.Or(ports[0].Name, ports[0].ID), ID: ports[0].ID})
				hits = append(hits, hit{object: object, cause: words, evidence: []string{"Neutron: port " + object.Name + ": " + words}})
			}
		}
	}
	return hits
}

// ungrouped says which security group of the cluster no port of a machine is in. CAPO puts
// ports into it that have no groups or no port security settings of their own.
func (v *scene) ungrouped(m member, ports []Port) string {
	field := "workerSecurityGroup"
	if controls(m.machine) {
		field = "controlPlaneSecurityGroup"
	}
	id := text(v.infrastructure, "status", field, "id")
	own, _, _ := nestedSlice(content(m.infra), "spec", "ports")
	plain := func(one any) bool {
		fields, _ := one.(map[string]any)
		return fields["securityGroups"] == nil && fields["disablePortSecurity"] != true
	}
	if resolved, known, _ := nestedSlice(content(m.server), "status", "resolved", "ports"); known && !slices.ContainsFunc(resolved, func(one any) bool {
		fields, _ := one.(map[string]any)
		ids, _ := fields["securityGroups"].([]any)
		return slices.Contains(ids, any(id))
	}) {
		return "" // it was made with others
	}
	if id == "" || m.infra == nil || len(own) > 0 && !slices.ContainsFunc(own, plain) {
		return ""
	}
	for _, p := range ports {
		if p.Groups == nil || slices.Contains(p.Groups, id) {
			return ""
		}
	}
	return "it is not in the security group " + cmp.Or(text(v.infrastructure, "status", field, "name"), id)
}

// unpaired says which address a machine is to send from, and no port lets it.
func unpaired(m member, ports []Port) string {
	own, _, _ := nestedSlice(content(m.infra), "spec", "ports")
	for _, one := range own {
		fields, _ := one.(map[string]any)
		pairs, _ := fields["allowedAddressPairs"].([]any)
		for _, pair := range pairs {
			wanted, _ := pair.(map[string]any)
			address, _ := wanted["ipAddress"].(string)
			has := func(p Port) bool { return p.Groups == nil || slices.Contains(p.Pairs, address) }
			if address != "" && !slices.ContainsFunc(ports, has) {
				return "it lacks the allowed address pair " + address
			}
		}
	}
	return ""
}

func content(o *unstructured.Unstructured) map[string]any {
	if o == nil {
		return nil
	}
	return o.Object
}
