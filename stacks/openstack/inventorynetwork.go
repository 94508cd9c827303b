package openstack

import (
	"context"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
)

func (i Inventory) floatingIPs(ctx context.Context, environment string, seen *exposed) (list []Resource, err error) {
	client, err := i.Network()
	if err != nil {
		return nil, err
	}
	pages, err := floatingips.List(client, floatingips.ListOpts{ProjectID: projectOf(client)}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := floatingips.ExtractFloatingIPs(pages)
	seen.addresses = all
	for _, f := range all {
		list = appendOwned(list, environment, TypeFloatingIP, f.ID, f.FloatingIP, f.Status, f.Tags, nil, f.Description)
	}
	return list, err
}

func (i Inventory) routers(ctx context.Context, environment string) (list []Resource, err error) {
	client, err := i.Network()
	if err != nil {
		return nil, err
	}
	pages, err := routers.List(client, routers.ListOpts{ProjectID: projectOf(client)}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := routers.ExtractRouters(pages)
	for _, r := range all {
		list = appendOwned(list, environment, TypeRouter, r.ID, r.Name, r.Status, r.Tags, nil, r.Description)
	}
	return list, err
}

func (i Inventory) ports(ctx context.Context, environment string, seen *exposed) (list []Resource, err error) {
	client, err := i.Network()
	if err != nil {
		return nil, err
	}
	pages, err := ports.List(client, ports.ListOpts{ProjectID: projectOf(client)}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := ports.ExtractPorts(pages)
	seen.ports = all
	for _, p := range all {
		list = appendOwned(list, environment, TypePort, p.ID, p.Name, p.Status, p.Tags, nil, p.Description)
	}
	return list, err
}

// LoosePorts are the ports of a step of the environment that no server has: their machines
// were lost. Nova does not delete ports that it did not create.
func (i Inventory) LoosePorts(ctx context.Context, environment, step string) (list []Resource, err error) {
	compute, err := i.Compute()
	if err != nil {
		return nil, err
	}
	var seen exposed
	own, err := i.ports(ctx, environment, &seen)
	if err != nil {
		return nil, err
	}
	pages, err := servers.List(compute, servers.ListOpts{}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	live, err := servers.ExtractServers(pages)
	if err != nil {
		return nil, err
	}
	for _, one := range own {
		at := slices.IndexFunc(seen.ports, func(p ports.Port) bool { return p.ID == one.ID })
		device, owner := seen.ports[at].DeviceID, seen.ports[at].DeviceOwner
		used := device != "" && (!strings.HasPrefix(owner, "compute:") || slices.ContainsFunc(live, func(s servers.Server) bool { return s.ID == device }))
		if one.Step == step && !used {
			list = append(list, one)
		}
	}
	return list, nil
}

func (i Inventory) subnets(ctx context.Context, environment string) (list []Resource, err error) {
	client, err := i.Network()
	if err != nil {
		return nil, err
	}
	pages, err := subnets.List(client, subnets.ListOpts{ProjectID: projectOf(client)}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := subnets.ExtractSubnets(pages)
	for _, s := range all {
		list = appendOwned(list, environment, TypeSubnet, s.ID, s.Name, s.CIDR, s.Tags, nil, s.Description)
	}
	return list, err
}

func (i Inventory) networks(ctx context.Context, environment string) (list []Resource, err error) {
	client, err := i.Network()
	if err != nil {
		return nil, err
	}
	pages, err := networks.List(client, networks.ListOpts{ProjectID: projectOf(client)}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := networks.ExtractNetworks(pages)
	for _, n := range all {
		list = appendOwned(list, environment, TypeNetwork, n.ID, n.Name, n.Status, n.Tags, nil, n.Description)
	}
	return list, err
}

func (i Inventory) securityGroups(ctx context.Context, environment string, seen *exposed) (list []Resource, err error) {
	client, err := i.Network()
	if err != nil {
		return nil, err
	}
	pages, err := groups.List(client, groups.ListOpts{ProjectID: projectOf(client)}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := groups.ExtractGroups(pages)
	seen.groups = all
	for _, g := range all {
		list = appendOwned(list, environment, TypeSecurityGroup, g.ID, g.Name, "present", g.Tags, nil, g.Description)
	}
	return list, err
}
