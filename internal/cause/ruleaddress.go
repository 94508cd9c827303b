package cause

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// securityGroup returns the group of the control plane or of the workers, nil if it is not
// known.
func (v *scene) securityGroup(field, suffix string) *SecurityGroup {
	if !v.Cloud.knows(ListSecurityGroups) || v.cluster == nil || v.ending() {
		return nil
	}
	name, id := "k8s-cluster-"+v.resource()+"-secgroup-"+suffix, text(v.infrastructure, "status", field, "id")
	i := slices.IndexFunc(v.Cloud.SecurityGroups, func(g SecurityGroup) bool { return id != "" && g.ID == id || id == "" && g.Name == name })
	if i < 0 {
		return nil
	}
	return &v.Cloud.SecurityGroups[i]
}

// group is the security group of the control plane, nil if it is not known.
func (v *scene) group() *SecurityGroup {
	return v.securityGroup("controlPlaneSecurityGroup", "controlplane")
}

// lets reports whether a security group lets a TCP port in from anywhere at all.
func (g SecurityGroup) lets(port int) bool {
	return slices.ContainsFunc(g.Ingress, func(r PortRange) bool { return r.From <= port && port <= r.To })
}

// narrows says from where alone a security group lets a TCP port in; nothing if from
// anywhere, or not at all.
func (g SecurityGroup) narrows(port int) string {
	var sources []string
	for _, r := range g.Ingress {
		switch {
		case port < r.From || r.To < port:
		case r.Source == "":
			return ""
		default:
			sources = append(sources, r.Source)
		}
	}
	return strings.Join(sorted(sources), ", ")
}

// The ports that CAPO opens between machines, besides that of the API: of kubelets, and of
// etcd (securitygroups_rules.go).
const kubeletPort, etcdPort = 10250, 2379

// closedGroup are security groups that lack a port, or any rule for what goes out. CAPO adds
// rules while it creates the infrastructure, so an unfinished one is not judged.
func closedGroup(v *scene) []hit {
	if !flag(v.infrastructure, "status", "ready") {
		return nil
	}
	_, managed, _ := nestedMap(v.infrastructure.Object, "spec", "managedSecurityGroups")
	var hits []hit
	for _, one := range []struct {
		group *SecurityGroup
		ports []int
	}{{v.group(), []int{v.apiPort(), kubeletPort, etcdPort}}, {v.securityGroup("workerSecurityGroup", "worker"), []int{0, kubeletPort}}} {
		g := one.group
		if g == nil {
			continue
		}
		var lacks []string
		for i, port := range one.ports {
			if port > 0 && (i == 0 || managed) && !g.lets(port) {
				lacks = append(lacks, fmt.Sprint(port))
			}
		}
		var words []string
		if len(lacks) > 0 {
			words = append(words, "it has no rule that lets TCP port "+strings.Join(lacks, ", ")+" in")
		}
		if from := g.narrows(one.ports[0]); managed && one.ports[0] > 0 && from != "" {
			words = append(words, fmt.Sprintf("it lets TCP port %d in from %s only", one.ports[0], from))
		}
		if g.Sealed {
			words = append(words, "it has no rule that lets anything out")
		}
		if len(words) > 0 {
			said := strings.Join(words, ", and ")
			hits = append(hits, hit{object: v.under(v.infra(), Ref{Kind: "security group", Name: g.Name, ID: g.ID}), cause: said, evidence: []string{"Neutron: security group " + g.Name + ": " + said}})
		}
	}
	return hits
}

// address is the floating IP of the API: CAPO notes it with the load balancer, and without
// one it is the endpoint.
func (v *scene) address() string {
	if address := text(v.infrastructure, "status", "apiServerLoadBalancer", "ip"); address != "" {
		return address
	}
	if text(v.infrastructure, "status", "apiServerLoadBalancer", "id") != "" || flag(v.infrastructure, "spec", "disableAPIServerFloatingIP") ||
		v.unbalanced() && flag(v.infrastructure, "spec", "disableExternalNetwork") {
		return ""
	}
	if address := text(v.infrastructure, "spec", "apiServerFloatingIP"); address != "" {
		return address
	}
	if host, err := netip.ParseAddr(text(v.infrastructure, "spec", "controlPlaneEndpoint", "host")); err == nil && v.unbalanced() {
		return host.String()
	}
	return ""
}

// unbalanced reports whether CAPO gives the API a floating IP of its own, without a load
// balancer (reconcileControlPlaneEndpoint in its controllers/openstackcluster_controller.go).
func (v *scene) unbalanced() bool {
	return v.infrastructure != nil && !flag(v.infrastructure, "spec", "apiServerLoadBalancer", "enabled")
}

// lostAddress is a hit if the floating IP of the API exists no more or leads elsewhere.
func lostAddress(v *scene) []hit {
	address := v.address()
	if address == "" || v.ending() || !v.Cloud.knows(ListFloatingIPs) || !v.completeWhenAsked() {
		return nil
	}
	words := "the project has no such floating IP"
	if i := slices.IndexFunc(v.Cloud.FloatingIPs, func(f FloatingIP) bool { return f.Address == address }); i >= 0 {
		words = v.misled(v.Cloud.FloatingIPs[i])
	}
	if words == "" {
		return nil
	}
	object := v.under(v.infra(), Ref{Kind: "floating IP", Name: address})
	return []hit{{object: object, cause: words, evidence: []string{"Neutron: floating IP " + address + ": " + words}}}
}

// misled says where the floating IP of the API leads instead of to the API; nothing if it
// leads there, or if nobody knows.
func (v *scene) misled(f FloatingIP) string {
	b := v.api()
	switch {
	case f.Port == "" && v.unbalanced() && len(v.serves()) == 0:
		return "" // CAPO associates it with the first control plane that is ready
	case f.Port == "":
		return "it is associated with no port"
	case f.Status == "ERROR":
		return "Neutron put it into ERROR"
	case b != nil && b.Port != "" && f.Port != b.Port:
		return "it leads to " + v.behind(f.Port) + " instead of the load balancer " + b.Name
	case b != nil || text(v.infrastructure, "status", "apiServerLoadBalancer", "id") != "" || !v.Cloud.knows(ListPorts):
		return ""
	}
	up, right := v.serves(), false
	for _, m := range up {
		right = right || m.nova == nil || slices.ContainsFunc(v.Cloud.portsOf(m.nova.ID), func(p Port) bool { return p.ID == f.Port })
	}
	if len(up) == 0 || right {
		return ""
	}
	return "it leads to " + v.behind(f.Port) + ", which is no control plane"
}

// behind names a port and whose it is.
func (v *scene) behind(id string) string {
	p := v.Cloud.port(id)
	if p == nil {
		return "port " + id
	}
	words := "port " + cmp.Or(p.Name, p.ID)
	if s := v.Cloud.server(p.Device, ""); s != nil && p.Device != "" {
		words += " of server " + s.Name
	}
	return words
}

// inSwitch is the provider whose load balancers answer by the port of their address. With others
// Octavia makes that port disabled, and machines of its own answer for the address.
const inSwitch = "ovn"

// disabledPorts are disabled ports of servers, and of the address of a load balancer in the switch.
func disabledPorts(v *scene) []hit {
	const words = "it is disabled (admin_state_up is false)"
	hits := ports(func(p Port) (string, bool) { return words, !p.Up })(v)
	b := v.api()
	if b == nil || b.Port == "" || b.Provider != inSwitch || !v.Cloud.knows(ListPorts) {
		return hits
	}
	if p := v.Cloud.port(b.Port); p != nil && !p.Up {
		object := v.under(v.under(v.infra(), Ref{Kind: "load balancer", Name: b.Name, ID: b.ID}), Ref{Kind: "port", Name: cmp.Or(p.Name, p.ID), ID: p.ID})
		hits = append(hits, hit{object: object, cause: words, evidence: []string{"Neutron: " + object.String() + ": " + words}})
	}
	return hits
}
