package faults

import (
	volumequotas "github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/quotasets"
	balancerquotas "github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

func quotaCases() []planted {
	zero := 0
	return []planted{
		{fault: "quota of cores", reason: "quota-compute", object: "quota cores",
			run: func(w *world) string {
				must(quotasets.Update(w.Context(), w.box.Admin.Compute(w.T), w.project(), quotasets.UpdateOpts{Cores: &zero}).Extract())(w)
				_, err := w.create(nil)
				return refused(w.wrong(err))
			}},
		{fault: "quota of servers", reason: "quota-compute", object: "quota instances",
			run: func(w *world) string {
				must(quotasets.Update(w.Context(), w.box.Admin.Compute(w.T), w.project(), quotasets.UpdateOpts{Instances: &zero}).Extract())(w)
				_, err := w.create(nil)
				return refused(w.wrong(err))
			}},
		{fault: "quota of ports, asked with events", reason: "quota-network", object: "quota ports",
			run: func(w *world) string {
				subnet := w.subnet("10.7.0.0/24")
				must(quotas.Update(w.Context(), w.box.Admin.Network(w.T), w.project(), quotas.UpdateOpts{Port: &zero}).Extract())(w)
				_, err := ports.Create(w.Context(), w.box.Member.Network(w.T), ports.CreateOpts{NetworkID: subnet.NetworkID}).Extract()
				return waitingWorker + warning("FailedCreatePort", "Failed to create port shop-w1-0: "+w.wrong(err).Error())
			}},
		{fault: "quota of ports, asked without events", reason: "quota-network", object: "quota ports",
			run: func(w *world) string {
				must(quotas.Update(w.Context(), w.box.Admin.Network(w.T), w.project(), quotas.UpdateOpts{Port: &zero}).Extract())(w)
				return waitingWorker
			}},
		{fault: "quota of floating IPs", reason: "quota-network", object: "quota floating_ips",
			run: func(w *world) string {
				must(quotas.Update(w.Context(), w.box.Admin.Network(w.T), w.project(), quotas.UpdateOpts{FloatingIP: &zero}).Extract())(w)
				_, err := floatingips.Create(w.Context(), w.box.Member.Network(w.T), floatingips.CreateOpts{FloatingNetworkID: w.external()}).Extract()
				return infrastructure("APIEndpointReady", "APIEndpointConfigFailed", "Failed to reconcile control plane endpoint: failed to reconcile load balancer: "+w.wrong(err).Error())
			}},
		{fault: "quota of load balancers", reason: "quota-load-balancer", object: "quota load_balancers",
			run: func(w *world) string {
				must(balancerquotas.Update(w.Context(), w.box.Admin.LoadBalancer(w.T), w.project(), balancerquotas.UpdateOpts{Loadbalancer: &zero}).Extract())(w)
				_, err := w.balancer()
				return infrastructure("APIEndpointReady", "APIEndpointConfigFailed", "Failed to reconcile control plane endpoint: failed to reconcile load balancer: "+w.wrong(err).Error())
			}},
		{fault: "quota of volumes", reason: "quota-volume", object: "quota volumes",
			run: func(w *world) string {
				must(volumequotas.Update(w.Context(), w.box.Admin.BlockStorage(w.T), w.project(), volumequotas.UpdateOpts{Volumes: &zero}).Extract())(w)
				_, err := volumes.Create(w.Context(), w.box.Member.BlockStorage(w.T), volumes.CreateOpts{Name: "shop-w1-root", Size: 1}, nil).Extract()
				return server("ERROR", "", "InstanceCreateFailed", w.wrong(err).Error())
			}},
	}
}

// external is the id of the external network.
func (w *world) external() string {
	w.Helper()
	pages := must(networks.List(w.box.Member.Network(w.T), networks.ListOpts{}).AllPages(w.Context()))(w)
	all := must(networks.ExtractNetworks(pages))(w)
	if len(all) == 0 {
		w.Fatal("no external network")
	}
	return all[0].ID
}
