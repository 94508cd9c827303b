package cause

import (
	"fmt"
	"regexp"
	"slices"
)

// networkRules are about Neutron.
func networkRules() []Rule {
	return []Rule{
		{ID: "address-pool-empty", Layer: "Neutron", Ending: Outside, Meaning: "A network or subnet has no free address.", kind: "network",
			Fix:   "delete ports or floating IPs that are not needed, or add an allocation pool to the subnet",
			words: regexp.MustCompile(`(?i)no more IP addresses available on network (?P<object>[\w-]+)|no more IP addresses available|IpAddressGenerationFailure|external network .* has no (free|available) addresses`),
			fault: regexp.MustCompile(`(?i)no more IP addresses available on network (?P<object>[\w-]+)|no more IP addresses available|IpAddressGenerationFailure|no (more )?fixed IP addresses available|NoMoreFixedIps|zero fixed ips available`)},
		{ID: "network-missing", Layer: "Neutron", Ending: Outside, Meaning: "A network, subnet or router that the cluster is to use does not exist, or the project cannot see it.",
			Fix:   "correct the name or id in the cluster's settings; see what there is with openstack network list --external",
			words: regexp.MustCompile(`(?i)external network not found|no external networks? found|failed to (find|get) (external |loadbalancer )?(network|subnet|router)|network [\w-]+ could not be found|no subnet match was found|router not found`)},
		{ID: "router-without-gateway", Layer: "Neutron", Ending: Outside, Meaning: "The router of the cluster has no external gateway, so machines reach nothing outside their network.",
			Fix:  "set it again with openstack router set --external-gateway NETWORK ROUTER; it serves running machines at once",
			find: withoutGateway},
		{ID: "security-group-closed", Layer: "Neutron", Ending: Outside, Meaning: "The security group of the control plane does not let the Kubernetes API's port in.",
			Fix:  "add the rule again with openstack security group rule create --protocol tcp --dst-port PORT GROUP; CAPO adds its own rules again when the OpenStackCluster changes",
			find: closedGroup},
		{ID: "floating-ip-lost", Layer: "Neutron", Ending: Outside, Meaning: "The floating IP of the Kubernetes API is gone, or associated with nothing.",
			Fix:  "associate it again with openstack floating ip set --port PORT ADDRESS; the port is that of the load balancer's address",
			find: lostAddress},
		{ID: "port-disabled", Layer: "Neutron", Ending: Outside, Meaning: "Somebody disabled a port of a running server.", Fix: "enable it with openstack port set --enable PORT",
			find: ports(func(p Port) (string, bool) { return "it is disabled (admin_state_up is false)", !p.Up })},
		{ID: "port-down", Layer: "Neutron", Ending: Passing, Meaning: "A port of a running server is down.",
			Fix: "if it stays so, ask the cloud's operator to look at the network agent of the host",
			find: ports(func(p Port) (string, bool) {
				return "it is " + p.Status, p.Up && p.Status != "ACTIVE" && p.Status != ""
			})},
	}
}

// router is the router of the cluster, nil if it is not known.
func (v *scene) router() *Router {
	if !v.Cloud.knows(ListRouters) || v.cluster == nil || v.ending() || flag(v.infrastructure, "spec", "disableExternalNetwork") {
		return nil
	}
	id, name := text(v.infrastructure, "status", "router", "id"), "k8s-clusterapi-cluster-"+v.resource()
	i := slices.IndexFunc(v.Cloud.Routers, func(r Router) bool { return id != "" && r.ID == id || id == "" && r.Name == name })
	if i < 0 {
		return nil
	}
	return &v.Cloud.Routers[i]
}

// withoutGateway is a hit if the router has lost its gateway. CAPO sets it with the
// router, so a router without one was changed by somebody.
func withoutGateway(v *scene) []hit {
	r := v.router()
	if r == nil || r.Gateway != "" {
		return nil
	}
	object := v.under(v.infra(), Ref{Kind: "router", Name: r.Name, ID: r.ID})
	return []hit{{object: object, cause: "it has no external gateway", evidence: []string{"Neutron: router " + r.Name + " has no external_gateway_info"}}}
}

// apiPort is the port of the cluster's Kubernetes API.
func (v *scene) apiPort() int {
	for _, path := range [][]string{{"spec", "controlPlaneEndpoint", "port"}, {"spec", "apiServerPort"}} {
		if v.infrastructure == nil {
			break
		}
		if value, found, _ := nestedInt(v.infrastructure.Object, path...); found && value > 0 {
			return int(value)
		}
	}
	return 6443
}

// group is the security group of the control plane, nil if it is not known.
func (v *scene) group() *SecurityGroup {
	if !v.Cloud.knows(ListSecurityGroups) || v.cluster == nil || v.ending() {
		return nil
	}
	name, id := "k8s-cluster-"+v.resource()+"-secgroup-controlplane", text(v.infrastructure, "status", "controlPlaneSecurityGroup", "id")
	i := slices.IndexFunc(v.Cloud.SecurityGroups, func(g SecurityGroup) bool { return id != "" && g.ID == id || id == "" && g.Name == name })
	if i < 0 {
		return nil
	}
	return &v.Cloud.SecurityGroups[i]
}

// lets reports whether a security group lets a TCP port in from anywhere at all.
func (g SecurityGroup) lets(port int) bool {
	return slices.ContainsFunc(g.Ingress, func(r PortRange) bool { return r.From <= port && port <= r.To })
}

// closedGroup is a hit if the control plane's security group lacks the API's port. CAPO
// adds rules while it creates the infrastructure, so an unfinished one is not judged.
func closedGroup(v *scene) []hit {
	g := v.group()
	if g == nil || g.lets(v.apiPort()) || !flag(v.infrastructure, "status", "ready") {
		return nil
	}
	words := fmt.Sprintf("it has no rule that lets TCP port %d in", v.apiPort())
	return []hit{{object: v.under(v.infra(), Ref{Kind: "security group", Name: g.Name, ID: g.ID}), cause: words, evidence: []string{"Neutron: security group " + g.Name + ": " + words}}}
}

// completeWhenAsked reports whether the cluster's infrastructure was complete before the
// cloud was asked. A list from before does not have what CAPO created since.
func (v *scene) completeWhenAsked() bool {
	if !flag(v.infrastructure, "status", "ready") {
		return false
	}
	if v.Cloud.At.IsZero() {
		return true
	}
	for _, c := range Conditions(v.cluster) {
		if c.Type == "InfrastructureReady" && c.Status == "True" && !c.Since.IsZero() {
			return c.Since.Before(v.Cloud.At)
		}
	}
	return v.infrastructure.GetCreationTimestamp().Add(late).Before(v.Cloud.At)
}

// lostAddress is a hit if the floating IP of the API exists no more or leads nowhere.
func lostAddress(v *scene) []hit {
	address := text(v.infrastructure, "status", "apiServerLoadBalancer", "ip")
	if address == "" || v.ending() || !v.Cloud.knows(ListFloatingIPs) || !v.completeWhenAsked() {
		return nil
	}
	i := slices.IndexFunc(v.Cloud.FloatingIPs, func(f FloatingIP) bool { return f.Address == address })
	words := "the project has no such floating IP"
	switch {
	case i >= 0 && v.Cloud.FloatingIPs[i].Port != "":
		return nil
	case i >= 0:
		words = "it is associated with no port"
	}
	object := v.under(v.infra(), Ref{Kind: "floating IP", Name: address})
	return []hit{{object: object, cause: words, evidence: []string{"Neutron: floating IP " + address + ": " + words}}}
}

// ports is a hit for each port of a server that runs, about which told returns true.
func ports(told func(Port) (string, bool)) func(*scene) []hit {
	return func(v *scene) []hit {
		if !v.Cloud.knows(ListPorts) {
			return nil
		}
		var hits []hit
		for _, m := range v.members {
			if m.nova == nil || m.nova.Status != "ACTIVE" || m.leaving() {
				continue
			}
			for _, p := range v.Cloud.portsOf(m.nova.ID) {
				if words, yes := told(p); yes {
					hits = append(hits, hit{object: v.under(m.ref(), Ref{Kind: "port", Name: p.Name, ID: p.ID}), cause: words, evidence: []string{"Neutron: port " + p.Name + ": " + words}})
				}
			}
		}
		return hits
	}
}
