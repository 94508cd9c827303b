package cause

import (
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
		{ID: "address-in-use", Layer: "Neutron", Ending: Outside, Meaning: "An address that the cluster is to have belongs to something else.", kind: "address",
			Fix:   "see whose it is with openstack port list --fixed-ip ip-address=ADDRESS or openstack floating ip list, and free it or choose another in the cluster's settings",
			words: regexp.MustCompile(`(?i)IP address (?P<object>[\d.a-f:]*[\da-f]) (?:is )?already (?:in use|allocated|associated)|cannot associate floating IP (?P<floating>[\d.]+\d)|IpAddressInUse|IpAddressAlreadyAllocated`)},
		{ID: "network-missing", Layer: "Neutron", Ending: Outside, Meaning: "A network, subnet or router that the cluster is to use does not exist, or the project cannot see it.",
			Fix:   "correct the name or id in the cluster's settings; see what there is with openstack network list --external",
			words: regexp.MustCompile(`(?i)external network not found|no external networks? found|failed to (find|get) (external |loadbalancer )?(network|subnet|router)|network [\w-]+ could not be found|no subnet match was found|router not found`)},
		{ID: "router-without-gateway", Layer: "Neutron", Ending: Outside, Meaning: "The router of the cluster has no external gateway, so machines reach nothing outside their network.",
			Fix:  "set it again with openstack router set --external-gateway NETWORK ROUTER; it serves running machines at once",
			find: withoutGateway},
		{ID: "security-group-closed", Layer: "Neutron", Ending: Outside, Meaning: "A security group of the cluster lacks a rule: it does not let a port in that Kubernetes needs, or nothing out.",
			Fix:  "add the rule again with openstack security group rule create --protocol tcp --dst-port PORT GROUP, or --egress GROUP for what goes out; CAPO adds its own rules again when the OpenStackCluster changes",
			find: closedGroup},
		{ID: "floating-ip-lost", Layer: "Neutron", Ending: Outside, Meaning: "The floating IP of the Kubernetes API is gone, associated with nothing, or with a port of something else.",
			Fix:  "associate it again with openstack floating ip set --port PORT ADDRESS; the port is that of the load balancer's address",
			find: lostAddress},
		{ID: "port-disabled", Layer: "Neutron", Ending: Outside, Meaning: "Somebody disabled a port of a running server, or of the address of a load balancer of provider ovn.", Fix: "enable it with openstack port set --enable PORT",
			find: disabledPorts},
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
