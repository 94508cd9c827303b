package faults

import (
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/sandbox/faultinject"
)

// wholeCases are changes of a cluster that runs, made in the cloud behind Cluster API's back.
func wholeCases() []planted {
	no, none := false, ""
	const router, control = "router k8s-clusterapi-cluster-prod-shop", "security group k8s-cluster-prod-shop-secgroup-controlplane"
	const subnet = "subnet k8s-clusterapi-cluster-prod-shop"
	moved := on("floating IP of the API moved to another port", "floating-ip-lost", "floating IP ID", func(c *whole) {
		port := c.port["shop-w1"]
		must(floatingips.Update(c.Context(), c.net(), c.fip, floatingips.UpdateOpts{PortID: &port}).Extract())(c.world)
	})
	unheard := on("listener of the load balancer deleted", "load-balancer-incomplete", "load balancer "+balancer, func(c *whole) {
		c.ok(listeners.Delete(c.Context(), c.lbs(), c.listener).ExtractErr())
		c.settled()
	})
	offline := on("network disabled", "network-disabled", "network k8s-clusterapi-cluster-prod-shop", func(c *whole) {
		must(networks.Update(c.Context(), c.net(), c.network, networks.UpdateOpts{AdminStateUp: &no}).Extract())(c.world)
	})
	return []planted{moved, felt(moved), unheard, felt(unheard), offline, felt(offline),
		on("floating IP of the API disassociated", "floating-ip-lost", "floating IP ID", func(c *whole) {
			must(floatingips.Update(c.Context(), c.net(), c.fip, floatingips.UpdateOpts{PortID: &none}).Extract())(c.world)
		}),
		on("floating IP of the API released", "floating-ip-lost", "floating IP ID", func(c *whole) {
			c.ok(floatingips.Delete(c.Context(), c.net(), c.fip).ExtractErr())
		}),
		on("pool of the load balancer deleted", "load-balancer-incomplete", "load balancer "+balancer, func(c *whole) {
			c.ok(pools.Delete(c.Context(), c.lbs(), c.pool).ExtractErr())
			c.settled()
		}),
		on("pool of the load balancer without members", "load-balancer-incomplete", "load balancer "+balancer, func(c *whole) {
			c.ok(pools.BatchUpdateMembers(c.Context(), c.lbs(), c.pool, []pools.BatchUpdateMemberOpts{}).ExtractErr())
			c.settled()
		}),
		on("listener of the load balancer disabled", "load-balancer-disabled", "load balancer "+balancer, func(c *whole) {
			must(listeners.Update(c.Context(), c.lbs(), c.listener, listeners.UpdateOpts{AdminStateUp: &no}).Extract())(c.world)
			c.settled()
		}),
		{fault: "member of the load balancer disabled", reason: "load-balancer-member-down", object: "load balancer " + balancer,
			run: func(w *world) string {
				c := w.whole()
				must(pools.UpdateMember(c.Context(), c.lbs(), c.pool, c.member, pools.UpdateMemberOpts{AdminStateUp: &no}).Extract())(c.world)
				c.settled()
				return c.objects() + "---" + unreached
			}},
		on("port of the load balancer's address disabled", "port-disabled", "port octavia-lb-ID", func(c *whole) {
			must(ports.Update(c.Context(), c.box.Admin.Network(c.T), c.vip, ports.UpdateOpts{AdminStateUp: &no}).Extract())(c.world)
		}),
		on("subnet deleted", "network-gone", "subnet nodes", func(c *whole) { c.subnet = "5a1f0000-0000-4000-8000-000000000001" }),
		{fault: "subnet without a gateway", reason: "subnet-changed", object: "subnet nodes", objects: made("network: {id: net-1, name: nodes, subnets: [{id: sub-1, name: nodes}]}"),
			said: &cause.Cloud{Networks: []cause.Network{{ID: "net-1", Name: "nodes"}}, Subnets: []cause.Subnet{{ID: "sub-1", Name: "nodes", DHCP: true}}}},
		on("DHCP of a subnet off", "subnet-changed", subnet, func(c *whole) {
			must(subnets.Update(c.Context(), c.net(), c.subnet, subnets.UpdateOpts{EnableDHCP: &no}).Extract())(c.world)
		}),
		on("router disabled", "network-disabled", router, func(c *whole) {
			must(routers.Update(c.Context(), c.net(), c.router, routers.UpdateOpts{AdminStateUp: &no}).Extract())(c.world)
		}),
		on("router's interface removed", "router-without-interface", router, func(c *whole) {
			c.ok(floatingips.Delete(c.Context(), c.net(), c.fip).ExtractErr()) // Neutron asks for that
			must(routers.RemoveInterface(c.Context(), c.net(), c.router, routers.RemoveInterfaceOpts{SubnetID: c.subnet}).Extract())(c.world)
			c.address = none
		}),
		on("security group without the kubelet's port", "security-group-closed", "security group k8s-cluster-prod-shop-secgroup-worker", func(c *whole) {
			c.unrule(c.group["worker"], rules.DirIngress)
		}),
		on("security group that lets an address range only to the API", "security-group-closed", control, func(c *whole) {
			c.unrule(c.group["controlplane"], rules.DirIngress)
			for port, from := range map[int]string{6443: "198.51.100.0/24", 10250: "", 2379: ""} {
				must(rules.Create(c.Context(), c.net(), rules.CreateOpts{SecGroupID: c.group["controlplane"], Direction: rules.DirIngress, EtherType: rules.EtherType4,
					Protocol: rules.ProtocolTCP, PortRangeMin: port, PortRangeMax: port, RemoteIPPrefix: from}).Extract())(c.world)
			}
		}),
		on("listener of the load balancer with other allowed CIDRs", "load-balancer-limited", "load balancer "+balancer, func(c *whole) {
			must(listeners.Update(c.Context(), c.lbs(), c.listener, listeners.UpdateOpts{AllowedCIDRs: &[]string{"198.51.100.0/24"}}).Extract())(c.world)
			c.settled()
		}),
		{fault: "floating IP of an API without a load balancer disassociated", reason: "floating-ip-lost", object: "floating IP 203.0.113.7",
			objects: "kind: OpenStackCluster\nmetadata: {name: shop}\nspec: {controlPlaneEndpoint: {host: 203.0.113.7, port: 6443}}\nstatus: {ready: true}\n---\n" +
				"kind: Machine\nmetadata: {name: shop-cp1, labels: {cluster.x-k8s.io/control-plane: \"\"}}\nspec: {providerID: \"openstack:///cp\"}\nstatus: {nodeRef: {name: shop-cp1}}\n",
			said: with(pair("cp"), func(c *cause.Cloud) {
				c.Servers = c.Servers[:1]
				c.FloatingIPs = []cause.FloatingIP{{ID: "f", Address: "203.0.113.7", Status: "DOWN"}}
			})},
		{fault: "DHCP of a subnet off that the project brought", reason: "subnet-differs", object: "subnet office",
			objects: "kind: OpenStackCluster\nmetadata: {name: shop}\nspec: {network: {id: net-1}}\nstatus: {ready: true, network: {id: net-1, name: nodes, subnets: [{id: sub-1, name: office}]}}\n---" + unreached,
			said:    &cause.Cloud{Networks: []cause.Network{{ID: "net-1", Name: "nodes"}}, Subnets: []cause.Subnet{{ID: "sub-1", Name: "office", Gateway: "10.0.0.1"}}}},
		on("security group that lets nothing out", "security-group-closed", control, func(c *whole) { c.unrule(c.group["controlplane"], rules.DirEgress) }),
		on("port of a server taken out of its security group", "port-changed", "port shop-cp1-0", func(c *whole) {
			must(ports.Update(c.Context(), c.net(), c.port["shop-cp1"], ports.UpdateOpts{SecurityGroups: &[]string{}}).Extract())(c.world)
		}),
		on("allowed address pair missing", "port-changed", "port shop-w1-0", func(c *whole) {
			must(ports.Update(c.Context(), c.net(), c.port["shop-w1"], ports.UpdateOpts{AllowedAddressPairs: &[]ports.AddressPair{}}).Extract())(c.world)
		}),
		on("server suspended", "server-stopped", "server shop-w1", func(c *whole) {
			c.ok(servers.Suspend(c.Context(), c.box.Member.Compute(c.T), c.server["shop-w1"]).ExtractErr())
			c.becomes("shop-w1", "SUSPENDED")
		}),
		on("server shelved", "server-stopped", "server shop-w1", func(c *whole) {
			c.ok(servers.Shelve(c.Context(), c.box.Member.Compute(c.T), c.server["shop-w1"]).ExtractErr())
			c.becomes("shop-w1", "SHELVED_OFFLOADED")
		}),
		on("server in rescue mode", "server-stopped", "server shop-w1", func(c *whole) {
			must(servers.Rescue(c.Context(), c.box.Member.Compute(c.T), c.server["shop-w1"], servers.RescueOpts{}).Extract())(c.world)
			c.becomes("shop-w1", "RESCUE")
		}),
		on("server of the control plane stopped, and its member with it", "server-stopped", "server shop-cp1", func(c *whole) {
			c.ok(servers.Stop(c.Context(), c.box.Member.Compute(c.T), c.server["shop-cp1"]).ExtractErr())
			c.becomes("shop-cp1", "SHUTOFF")
		}),
		on("Nova that answers 503", "cloud-service-error", "cloud service Nova", failing("compute", 503)),
		on("Neutron that answers 500", "cloud-service-error", "cloud service Neutron", failing("network", 500)),
		on("Octavia that answers 503", "cloud-service-error", "cloud service Octavia", failing("load-balancer", 503)),
		on("Cinder that answers 502", "cloud-service-error", "cloud service Cinder", failing("volumev3", 502)),
		on("Glance that limits calls", "cloud-service-error", "cloud service Glance", failing("image", 429)),
	}
}

// failing is a service of the cloud that answers all calls with a status.
func failing(service string, status int) func(*whole) {
	return func(c *whole) {
		c.rule(faultinject.Rule{Kind: faultinject.API, Service: service, Status: status})
	}
}
