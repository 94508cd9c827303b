package orphan

import (
	"context"
	"errors"
	"fmt"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/pagination"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// lists are what the project has of each kind that a cluster can leave.
type lists struct {
	networks    []networks.Network
	subnets     []subnets.Subnet
	routers     []routers.Router
	ports       []ports.Port
	groups      []groups.SecGroup
	addresses   []floatingips.FloatingIP
	balancers   []loadbalancers.LoadBalancer
	volumes     []volumes.Volume
	credentials []applicationcredentials.ApplicationCredential
	// containers take a request each, so they are read only if a cluster is gone.
	containers []openstack.OwnedContainer
}

// all returns the elements of all pages.
func all[T any](ctx context.Context, pager pagination.Pager, extract func(pagination.Page) ([]T, error)) ([]T, error) {
	pages, err := pager.AllPages(ctx)
	if err != nil {
		return nil, err
	}
	return extract(pages)
}

// looker lists one kind beside the others.
type looker func(what string, open func() (*gophercloud.ServiceClient, error), list func(*gophercloud.ServiceClient) error)

// read lists everything at the same time. A list that cannot be read is an error, because
// what stands on it could not be judged; a service that the cloud does not have has nothing.
func (s Survey) read(ctx context.Context) (l lists, err error) {
	project := s.Project
	group, ctx := errgroup.WithContext(ctx)
	look := func(what string, open func() (*gophercloud.ServiceClient, error), list func(*gophercloud.ServiceClient) error) {
		group.Go(func() error {
			client, err := open()
			if errors.Is(err, cloud.ErrNoService) {
				return nil
			}
			if err == nil {
				err = list(client)
			}
			if err != nil {
				return fmt.Errorf("listing %s: %w", what, err)
			}
			return nil
		})
	}
	i := s.Inventory
	s.readNetwork(ctx, look, &l)
	look("load balancers", i.LoadBalancer, func(c *gophercloud.ServiceClient) (err error) {
		l.balancers, err = all(ctx, loadbalancers.List(c, loadbalancers.ListOpts{ProjectID: project}), loadbalancers.ExtractLoadBalancers)
		return err
	})
	look("volumes", i.Volume, func(c *gophercloud.ServiceClient) (err error) {
		l.volumes, err = all(ctx, volumes.List(c, volumes.ListOpts{}), volumes.ExtractVolumes)
		return err
	})
	look("application credentials", i.Identity, func(c *gophercloud.ServiceClient) (err error) {
		l.credentials, err = all(ctx, applicationcredentials.List(c, i.UserID, nil), applicationcredentials.ExtractApplicationCredentials)
		return err
	})
	return l, group.Wait()
}

// readNetwork lists what is Neutron's.
func (s Survey) readNetwork(ctx context.Context, look looker, l *lists) {
	i, project := s.Inventory, s.Project
	look("networks", i.Network, func(c *gophercloud.ServiceClient) (err error) {
		l.networks, err = all(ctx, networks.List(c, networks.ListOpts{ProjectID: project}), networks.ExtractNetworks)
		return err
	})
	look("subnets", i.Network, func(c *gophercloud.ServiceClient) (err error) {
		l.subnets, err = all(ctx, subnets.List(c, subnets.ListOpts{ProjectID: project}), subnets.ExtractSubnets)
		return err
	})
	look("routers", i.Network, func(c *gophercloud.ServiceClient) (err error) {
		l.routers, err = all(ctx, routers.List(c, routers.ListOpts{ProjectID: project}), routers.ExtractRouters)
		return err
	})
	look("ports", i.Network, func(c *gophercloud.ServiceClient) (err error) {
		l.ports, err = all(ctx, ports.List(c, ports.ListOpts{ProjectID: project}), ports.ExtractPorts)
		return err
	})
	look("security groups", i.Network, func(c *gophercloud.ServiceClient) (err error) {
		l.groups, err = all(ctx, groups.List(c, groups.ListOpts{ProjectID: project}), groups.ExtractGroups)
		return err
	})
	look("floating IPs", i.Network, func(c *gophercloud.ServiceClient) (err error) {
		l.addresses, err = all(ctx, floatingips.List(c, floatingips.ListOpts{ProjectID: project}), floatingips.ExtractFloatingIPs)
		return err
	})
}
