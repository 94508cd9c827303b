package capo

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
)

// external is the ID of the cloud's external network.
func (p *project) external() string {
	p.Helper()
	yes := true
	pages := need(networks.List(p.network, external.ListOptsExt{ListOptsBuilder: networks.ListOpts{}, External: &yes}).AllPages(p.Context()))(p)
	all := need(networks.ExtractNetworks(pages))(p)
	if len(all) == 0 {
		p.Fatal("the cloud has no external network")
	}
	return all[0].ID
}

// neighborhood makes a routed network, and returns its subnet.
func (p *project) neighborhood(name string) string {
	p.Helper()
	network := need(networks.Create(p.Context(), p.network, networks.CreateOpts{Name: name}).Extract())(p)
	p.after("network", func(ctx context.Context) error { return networks.Delete(ctx, p.network, network.ID).ExtractErr() })
	subnet := need(subnets.Create(p.Context(), p.network, subnets.CreateOpts{NetworkID: network.ID, CIDR: "10.62.0.0/24", IPVersion: 4}).Extract())(p)
	router := need(routers.Create(p.Context(), p.network, routers.CreateOpts{Name: name, GatewayInfo: &routers.GatewayInfo{NetworkID: p.external()}}).Extract())(p)
	p.after("router", func(ctx context.Context) error { return routers.Delete(ctx, p.network, router.ID).ExtractErr() })
	need(routers.AddInterface(p.Context(), p.network, router.ID, routers.AddInterfaceOpts{SubnetID: subnet.ID}).Extract())(p)
	p.after("router's interface", func(ctx context.Context) error {
		return routers.RemoveInterface(ctx, p.network, router.ID, routers.RemoveInterfaceOpts{SubnetID: subnet.ID}).Err
	})
	return subnet.ID
}

// portOf is a server's only port.
func (p *project) portOf(server string) ports.Port {
	p.Helper()
	pages := need(ports.List(p.network, ports.ListOpts{DeviceID: server}).AllPages(p.Context()))(p)
	all := need(ports.ExtractPorts(pages))(p)
	if len(all) != 1 {
		p.Fatalf("server %s has %d ports, want 1", server, len(all))
	}
	return all[0]
}
