package cause

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// goneRules are about what Cluster API created in the cloud and somebody deleted or changed
// there since: Cluster API looks at most of it only when the cluster changes.
func goneRules() []Rule {
	return []Rule{
		{ID: "load-balancer-gone", Layer: "Octavia", Ending: Passing, Meaning: "Somebody deleted the load balancer of the Kubernetes API.",
			// CAPO keeps both addresses in its status; members come with the next look at each OpenStackMachine.
			Fix: "wait for twenty minutes: Cluster API creates another with the same address and floating IP, and the control plane as its members; to begin at once, set an annotation on the OpenStackCluster, and when the load balancer is ACTIVE on the OpenStackMachines of the control plane; if none comes, read the events of the OpenStackCluster: an address that something else has meanwhile must be freed", find: lostBalancer},
		{ID: "load-balancer-disabled", Layer: "Octavia", Ending: Outside, Meaning: "Somebody disabled the load balancer of the Kubernetes API, its listener or its pool.",
			Fix: "enable it with openstack loadbalancer set --enable LOAD-BALANCER, or openstack loadbalancer listener set --enable or pool set --enable for a part of it", find: balancers(func(v *scene, b Balancer) (string, bool) {
				if words, is := v.part(b, func(_ string, disabled bool) (string, bool) { return "disabled (admin_state_up is false)", disabled }); is && !b.Disabled {
					return words, true
				}
				return "it is disabled (admin_state_up is false)", b.Disabled
			})},
		{ID: "network-gone", Layer: "Neutron", Ending: Outside, Meaning: "Somebody deleted the network, subnet, router or security group of the cluster.",
			Fix: "see who did with the cloud's operator; what Cluster API made itself it makes again when the OpenStackCluster changes: set an annotation on it", find: lostNetwork},
		{ID: "port-missing", Layer: "Neutron", Ending: Outside, healthCheck: true, Meaning: "A running server has no port: somebody deleted or detached it.",
			Fix: "delete the Machine so that Cluster API creates another: kubectl delete machine NAME", find: portless},
		{ID: "router-without-interface", Layer: "Neutron", Ending: Outside, Meaning: "The router of the cluster is not connected to the network of the machines, so they reach nothing outside it.",
			Fix: "connect it again with openstack router add subnet ROUTER SUBNET", find: detachedRouter, words: regexp.MustCompile(`(?i)external network \S+ is not reachable from subnet`)},
		{ID: "mtu-too-large", Layer: "Neutron", Ending: Outside, Meaning: "Packets of pods are larger than the network of the machines carries: small answers come through, and large ones vanish.",
			Fix: "set clusterNetworking.internalNetwork.mtu of the cluster to the network's MTU (openstack network show), and restart the pods", find: largePackets},
	}
}

// lostBalancer is a hit if Octavia no longer has the load balancer that Cluster API made.
func lostBalancer(v *scene) []hit {
	id := text(v.infrastructure, "status", "apiServerLoadBalancer", "id")
	if id == "" || v.ending() || !v.Cloud.knows(ListBalancers) || !v.completeWhenAsked() || v.api() != nil {
		return nil
	}
	name := cmp.Or(text(v.infrastructure, "status", "apiServerLoadBalancer", "name"), "k8s-clusterapi-cluster-"+v.resource()+"-kubeapi")
	object := v.under(v.infra(), Ref{Kind: "load balancer", Name: name, ID: id})
	return []hit{{object: object, cause: "Octavia has no load balancer with the id " + id, source: "Octavia", evidence: []string{"Octavia: no load balancer " + id}, refused: v.hindered()}}
}

// hindered reports whether CAPO says of the infrastructure what does not pass: then it does not get
// to the load balancer, or the cloud refuses it another one.
func (v *scene) hindered() bool {
	return slices.ContainsFunc(v.spoken, func(c complaint) bool {
		return c.object == v.infra() && c.kind != "event" && lasting(v.rules, c.text())
	})
}

// lostNetwork are hits for what CAPO noted in the status and Neutron does not have.
func lostNetwork(v *scene) []hit {
	if v.infrastructure == nil || v.Cloud == nil || v.ending() || !v.completeWhenAsked() {
		return nil
	}
	var hits []hit
	check := func(kind, list string, part any, has func(id string) bool) {
		fields, _ := part.(map[string]any)
		id, _ := fields["id"].(string)
		name, _ := fields["name"].(string)
		if id == "" || !v.Cloud.knows(list) || has(id) {
			return
		}
		object := v.under(v.infra(), Ref{Kind: kind, Name: name, ID: id})
		hits = append(hits, hit{object: object, cause: "Neutron has no " + kind + " with the id " + id, source: "Neutron", evidence: []string{"Neutron: no " + kind + " " + id}})
	}
	status, _, _ := unstructured.NestedMap(v.infrastructure.Object, "status")
	check("network", ListNetworks, status["network"], func(id string) bool {
		return slices.ContainsFunc(v.Cloud.Networks, func(n Network) bool { return n.ID == id })
	})
	noted, _, _ := nestedSlice(status, "network", "subnets")
	for _, subnet := range noted {
		if len(hits) > 0 {
			break // they went with the network
		}
		check("subnet", ListSubnets, subnet, func(id string) bool {
			return slices.ContainsFunc(v.Cloud.Subnets, func(s Subnet) bool { return s.ID == id })
		})
	}
	check("router", ListRouters, status["router"], func(id string) bool {
		return slices.ContainsFunc(v.Cloud.Routers, func(r Router) bool { return r.ID == id })
	})
	for _, group := range []string{"controlPlaneSecurityGroup", "workerSecurityGroup"} {
		check("security group", ListSecurityGroups, status[group], func(id string) bool {
			return slices.ContainsFunc(v.Cloud.SecurityGroups, func(g SecurityGroup) bool { return g.ID == id })
		})
	}
	return hits
}

// portless are servers that run without a port, while another one of the cluster has one.
func portless(v *scene) []hit {
	if !v.Cloud.knows(ListPorts) || v.ending() {
		return nil
	}
	var without []member
	with := false
	for _, m := range v.members {
		if m.machine == nil || m.nova == nil || m.nova.Status != "ACTIVE" || m.leaving() || !v.listed(m) {
			continue
		}
		if len(v.Cloud.portsOf(m.nova.ID)) == 0 {
			without = append(without, m)
		} else {
			with = true
		}
	}
	var hits []hit
	for _, m := range without {
		if with {
			hits = append(hits, hit{object: m.ref(), cause: "it runs and has no port", source: "Neutron", evidence: []string{"Neutron: no port with the device " + m.nova.ID}})
		}
	}
	return hits
}

// detachedRouter is a hit if the router has no port on a network, while servers have.
func detachedRouter(v *scene) []hit {
	r := v.router()
	if r == nil || r.Gateway == "" || !v.Cloud.knows(ListPorts) || !v.completeWhenAsked() || len(v.Cloud.portsOf(r.ID)) > 0 {
		return nil
	}
	if !slices.ContainsFunc(v.members, func(m member) bool { return m.nova != nil && len(v.Cloud.portsOf(m.nova.ID)) > 0 }) {
		return nil
	}
	object := v.under(v.infra(), Ref{Kind: "router", Name: r.Name, ID: r.ID})
	return []hit{{object: object, cause: "it has no interface on the network of the machines", source: "Neutron", evidence: []string{"Neutron: no port with the device " + r.ID}}}
}

// largePackets is a hit if pods may send packets that do not fit the network of the machines
// with what the network plugin puts around them.
func largePackets(v *scene) []hit {
	if v.Inside == nil || v.Inside.PodNetwork == nil || !v.Cloud.knows(ListNetworks) {
		return nil
	}
	pods, id := *v.Inside.PodNetwork, text(v.infrastructure, "status", "network", "id")
	i := slices.IndexFunc(v.Cloud.Networks, func(n Network) bool { return n.ID == id && id != "" })
	if i < 0 || v.Cloud.Networks[i].MTU == 0 || pods.MTU == 0 || pods.MTU+pods.Overhead <= v.Cloud.Networks[i].MTU {
		return nil
	}
	n := v.Cloud.Networks[i]
	words := fmt.Sprintf("its MTU is %d, with %d bytes around it, and network %s carries %d", pods.MTU, pods.Overhead, n.Name, n.MTU)
	return []hit{{object: v.under(v.top(), Ref{Kind: "pod network", Name: pods.Plugin}), cause: words, source: "its settings and Neutron",
		evidence: []string{fmt.Sprintf("%s: MTU %d", pods.Setting, pods.MTU), fmt.Sprintf("Neutron: network %s: MTU %d", n.Name, n.MTU)}}}
}
