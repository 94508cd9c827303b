package faults

import (
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/slipway-sh/slipway/internal/cause"
)

func networkCases() []planted {
	return []planted{
		{fault: "address pool empty", reason: "address-pool-empty", object: "network ID",
			run: func(w *world) string {
				subnet := w.subnet("10.7.0.0/29")
				for {
					_, err := ports.Create(w.Context(), w.box.Member.Network(w.T), ports.CreateOpts{NetworkID: subnet.NetworkID}).Extract()
					if err != nil {
						return waitingWorker + warning("FailedCreatePort", "Failed to create port shop-w1-0: "+err.Error())
					}
				}
			}},
		{fault: "router without gateway", reason: "router-without-gateway", object: "router k8s-clusterapi-cluster-prod-shop",
			run: func(w *world) string {
				must(routers.Create(w.Context(), w.box.Member.Network(w.T), routers.CreateOpts{Name: "k8s-clusterapi-cluster-prod-shop"}).Extract())(w)
				return ""
			}},
		{fault: "security group without the API's port", reason: "security-group-closed", object: "security group k8s-cluster-prod-shop-secgroup-controlplane",
			run: func(w *world) string {
				must(groups.Create(w.Context(), w.box.Member.Network(w.T), groups.CreateOpts{Name: "k8s-cluster-prod-shop-secgroup-controlplane"}).Extract())(w)
				return ""
			}},
		{fault: "floating IP of the API deleted", reason: "floating-ip-lost", object: "floating IP 203.0.113.7",
			run: func(*world) string {
				return "kind: OpenStackCluster\nmetadata: {name: shop}\nstatus: {ready: true, apiServerLoadBalancer: {name: lb, ip: 203.0.113.7}}\n"
			}},
		{fault: "port of a server disabled", reason: "port-disabled", object: "port shop-w1-0",
			run: func(w *world) string {
				subnet, off := w.subnet("10.7.0.0/24"), false
				p := must(ports.Create(w.Context(), w.box.Member.Network(w.T), ports.CreateOpts{NetworkID: subnet.NetworkID, Name: "shop-w1-0"}).Extract())(w)
				w.server("ACTIVE", func(o *servers.CreateOpts) { o.Networks = []servers.Network{{Port: p.ID}} })
				must(ports.Update(w.Context(), w.box.Member.Network(w.T), p.ID, ports.UpdateOpts{AdminStateUp: &off}).Extract())(w)
				return ""
			}},
		{fault: "port of a server down", reason: "port-down", object: "port shop-w1-0",
			said: &cause.Cloud{Servers: []cause.Server{{ID: "w1", Name: "shop-w1", Status: "ACTIVE", Created: asked}}, Ports: []cause.Port{{ID: "p", Name: "shop-w1-0", Status: "DOWN", Device: "w1", Up: true}}}},
		{fault: "external network missing", reason: "network-missing", object: "OpenStackCluster shop",
			objects: infrastructure("NetworkReady", "OpenStackError", "Failed to find network: filter matched no resources")},
	}
}
