package cloud

import (
	"cmp"
	"context"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/common/extensions"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/mtu"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/pagination"
)

func networkListings() []listing {
	return []listing{
		{Network, ListNetworks, listNetworks}, {Network, ListSubnets, listSubnets}, {Network, ListRouters, listRouters}, {Network, ListGroups, listGroups},
		{Network, ListFloatingIPs, listFloatingIPs}, {Network, ListExtensions, listExtensions}, {Network, ListZones, listNetworkZones}, {Network, ListQuotas, networkQuotas},
	}
}

type network struct {
	networks.Network
	external.NetworkExternalExt
	mtu.NetworkMTUExt
}

func listNetworks(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) (err error) {
	extract := func(page pagination.Page) (found []network, err error) {
		err = networks.ExtractNetworksInto(page, &found)
		return found, err
	}
	s.Networks, err = every(ctx, networks.List(client, networks.ListOpts{}), extract, func(n network) NetworkInfo {
		return NetworkInfo{Resource: resource("network", n.ID, n.Name, n.Tags, nil, n.Description), ProjectID: n.ProjectID, External: n.External, Shared: n.Shared, MTU: n.MTU, Disabled: !n.AdminStateUp}
	})
	return err
}

func listSubnets(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) (err error) {
	s.Subnets, err = every(ctx, subnets.List(client, subnets.ListOpts{}), subnets.ExtractSubnets, func(n subnets.Subnet) SubnetInfo {
		info := SubnetInfo{Resource: resource("subnet", n.ID, n.Name, n.Tags, nil, n.Description), ProjectID: n.ProjectID, NetworkID: n.NetworkID, CIDR: n.CIDR,
			Gateway: n.GatewayIP, DHCP: n.EnableDHCP, NameServers: n.DNSNameservers}
		for _, route := range n.HostRoutes {
			info.Routes = append(info.Routes, route.DestinationCIDR+" via "+route.NextHop)
		}
		return info
	})
	return err
}

func listRouters(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) (err error) {
	s.Routers, err = every(ctx, routers.List(client, routers.ListOpts{ProjectID: s.Token.ProjectID}), routers.ExtractRouters, func(r routers.Router) RouterInfo {
		info := RouterInfo{Resource: resource("router", r.ID, r.Name, r.Tags, nil, r.Description), ExternalNetworkID: r.GatewayInfo.NetworkID, Disabled: !r.AdminStateUp}
		for _, route := range r.Routes {
			info.Routes = append(info.Routes, route.DestinationCIDR)
		}
		return info
	})
	return err
}

func listGroups(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) (err error) {
	s.SecurityGroups, err = every(ctx, groups.List(client, groups.ListOpts{ProjectID: s.Token.ProjectID}), groups.ExtractGroups, func(g groups.SecGroup) GroupInfo {
		info := GroupInfo{Resource: resource("security group", g.ID, g.Name, g.Tags, nil, g.Description)}
		for _, r := range g.Rules {
			switch {
			case r.Direction == "egress":
				info.Egress = true
			case r.Direction != "ingress" || r.Protocol != "" && r.Protocol != "tcp" && r.Protocol != "6":
			default:
				ports := [2]int{r.PortRangeMin, r.PortRangeMax}
				if ports == [2]int{} {
					ports[1] = 65535
				}
				source := cmp.Or(r.RemoteGroupID, r.RemoteIPPrefix)
				if strings.HasSuffix(source, "/0") {
					source = ""
				}
				info.Ingress, info.Sources = append(info.Ingress, ports), append(info.Sources, source)
			}
		}
		return info
	})
	return err
}

func listPorts(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) (err error) {
	s.Ports, err = every(ctx, ports.List(client, ports.ListOpts{ProjectID: s.Token.ProjectID}), ports.ExtractPorts, func(p ports.Port) PortInfo {
		info := PortInfo{Resource: resource("port", p.ID, p.Name, p.Tags, nil, p.Description), Status: p.Status, DeviceID: p.DeviceID, Up: p.AdminStateUp, Groups: p.SecurityGroups}
		for _, fixed := range p.FixedIPs {
			info.Addresses = append(info.Addresses, fixed.IPAddress)
		}
		for _, pair := range p.AllowedAddressPairs {
			info.Pairs = append(info.Pairs, pair.IPAddress)
		}
		return info
	})
	return err
}

func listFloatingIPs(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) (err error) {
	s.FloatingIPs, err = every(ctx, floatingips.List(client, floatingips.ListOpts{ProjectID: s.Token.ProjectID}), floatingips.ExtractFloatingIPs, func(f floatingips.FloatingIP) FloatingIPInfo {
		return FloatingIPInfo{Resource: resource("floating IP", f.ID, f.FloatingIP, f.Tags, nil, f.Description), Address: f.FloatingIP, NetworkID: f.FloatingNetworkID, PortID: f.PortID, Status: f.Status}
	})
	return err
}

func listExtensions(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) (err error) {
	s.Extensions, err = every(ctx, extensions.List(client), extensions.ExtractExtensions, func(e extensions.Extension) string { return e.Alias })
	return err
}

// listNetworkZones lists zones without gophercloud, which fails on the 404 of a
// cloud without the extension; that means no zones (S-10).
func listNetworkZones(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) error {
	var body struct {
		Zones []struct {
			Name, Resource, State string
		} `json:"availability_zones"`
	}
	_, err := client.Get(ctx, client.ServiceURL("availability_zones"), &body, nil)
	if gophercloud.ResponseCodeIs(err, 404) {
		return nil
	}
	for _, zone := range body.Zones {
		if zone.State == "available" && (zone.Resource == NetworkZones || zone.Resource == RouterZones) {
			s.Zones[zone.Resource] = append(s.Zones[zone.Resource], zone.Name)
		}
	}
	return err
}

func networkQuotas(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) error {
	q, err := quotas.GetDetail(ctx, client, s.Token.ProjectID).Extract()
	if err != nil {
		return err
	}
	for _, one := range []struct {
		resource string
		detail   quotas.QuotaDetail
	}{
		{"networks", q.Network}, {"subnets", q.Subnet}, {"routers", q.Router}, {"ports", q.Port}, {"floating_ips", q.FloatingIP},
		{"security_groups", q.SecurityGroup}, {"security_group_rules", q.SecurityGroupRule},
	} {
		s.Quotas = append(s.Quotas, Quota{Network, one.resource, one.detail.Limit, one.detail.Used + one.detail.Reserved})
	}
	return nil
}
