package openstack

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/snapshots"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/pagination"
	"golang.org/x/sync/errgroup"
)

// Everything lists all that a project has, whoever made it, in the order of deletion (row
// S-78). It leaves out what a project cannot be without (its default security group), images
// that somebody has protected, what goes with others (ports of servers, routers and DHCP),
// what belongs to a user and not to the project (key pairs), application credentials of other
// users, which only they can delete, those of environments in other regions, and the one with
// the ID login.
func (i Inventory) Everything(ctx context.Context, project, login string) ([]Resource, error) {
	listers := i.wholeLists(project, login)
	found := make([][]Resource, len(listers))
	group, ctx := errgroup.WithContext(ctx)
	for n, list := range listers {
		group.Go(func() error {
			return again(ctx, func() (err error) {
				client, err := list.open()
				if err != nil {
					return absent(err)
				}
				found[n], err = list.of(ctx, client)
				return err
			})
		})
	}
	if err := group.Wait(); err != nil {
		return nil, explain("inventory of project "+project, err)
	}
	things := slices.Concat(found...)
	order := deletionOrder()
	slices.SortStableFunc(things, func(a, b Resource) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Type), slices.Index(order, b.Type)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return things, nil
}

type wholeList struct {
	open func() (*gophercloud.ServiceClient, error)
	of   func(context.Context, *gophercloud.ServiceClient) ([]Resource, error)
}

func (i Inventory) wholeLists(project, login string) []wholeList {
	return append(i.wholeNetwork(project), wholeList{i.Compute, func(ctx context.Context, c *gophercloud.ServiceClient) ([]Resource, error) {
		return every(ctx, servers.List(c, servers.ListOpts{}), servers.ExtractServers, func(s servers.Server) Resource {
			return Resource{Type: TypeServer, ID: s.ID, Name: s.Name, State: s.Status}
		})
	}}, wholeList{i.Volume, func(ctx context.Context, c *gophercloud.ServiceClient) ([]Resource, error) {
		return every(ctx, volumes.List(c, volumes.ListOpts{}), volumes.ExtractVolumes, func(v volumes.Volume) Resource {
			return Resource{Type: TypeVolume, ID: v.ID, Name: v.Name, State: v.Status}
		})
	}}, wholeList{i.Volume, func(ctx context.Context, c *gophercloud.ServiceClient) ([]Resource, error) {
		return every(ctx, snapshots.ListDetail(c, snapshots.ListOpts{}), snapshots.ExtractSnapshots, func(s snapshots.Snapshot) Resource {
			return Resource{Type: TypeSnapshot, ID: s.ID, Name: s.Name, State: s.Status}
		})
	}}, wholeList{i.Image, func(ctx context.Context, c *gophercloud.ServiceClient) ([]Resource, error) {
		return every(ctx, images.List(c, images.ListOpts{Owner: project}), images.ExtractImages, func(m images.Image) Resource {
			if m.Protected {
				return Resource{}
			}
			return Resource{Type: TypeImage, ID: m.ID, Name: m.Name, State: string(m.Visibility)}
		})
	}}, wholeList{i.Identity, func(ctx context.Context, c *gophercloud.ServiceClient) ([]Resource, error) {
		return every(ctx, applicationcredentials.List(c, i.UserID, nil), applicationcredentials.ExtractApplicationCredentials, func(a applicationcredentials.ApplicationCredential) Resource {
			if a.ProjectID != project || a.ID == login || Belongs(i, a.Description) == Away {
				return Resource{}
			}
			return Resource{Type: TypeCredential, ID: a.ID, Name: a.Name, State: "present"}
		})
	}}, wholeList{i.LoadBalancer, func(ctx context.Context, c *gophercloud.ServiceClient) ([]Resource, error) {
		return every(ctx, loadbalancers.List(c, loadbalancers.ListOpts{ProjectID: project}), loadbalancers.ExtractLoadBalancers, func(b loadbalancers.LoadBalancer) Resource {
			return Resource{Type: TypeLoadBalancer, ID: b.ID, Name: b.Name, State: b.ProvisioningStatus}
		})
	}})
}

func (i Inventory) wholeNetwork(project string) []wholeList {
	return []wholeList{{i.Network, func(ctx context.Context, c *gophercloud.ServiceClient) ([]Resource, error) {
		return every(ctx, floatingips.List(c, floatingips.ListOpts{ProjectID: project}), floatingips.ExtractFloatingIPs, func(f floatingips.FloatingIP) Resource {
			return Resource{Type: TypeFloatingIP, ID: f.ID, Name: f.FloatingIP, State: f.Status}
		})
	}}, {i.Network, func(ctx context.Context, c *gophercloud.ServiceClient) ([]Resource, error) {
		return every(ctx, routers.List(c, routers.ListOpts{ProjectID: project}), routers.ExtractRouters, func(r routers.Router) Resource {
			return Resource{Type: TypeRouter, ID: r.ID, Name: r.Name, State: r.Status}
		})
	}}, {i.Network, func(ctx context.Context, c *gophercloud.ServiceClient) ([]Resource, error) {
		return every(ctx, ports.List(c, ports.ListOpts{ProjectID: project}), ports.ExtractPorts, func(p ports.Port) Resource {
			if strings.HasPrefix(p.DeviceOwner, "network:") || strings.HasPrefix(p.DeviceOwner, "Octavia") {
				return Resource{}
			}
			return Resource{Type: TypePort, ID: p.ID, Name: p.Name, State: p.Status}
		})
	}}, {i.Network, func(ctx context.Context, c *gophercloud.ServiceClient) ([]Resource, error) {
		return every(ctx, subnets.List(c, subnets.ListOpts{ProjectID: project}), subnets.ExtractSubnets, func(s subnets.Subnet) Resource {
			return Resource{Type: TypeSubnet, ID: s.ID, Name: s.Name, State: s.CIDR}
		})
	}}, {i.Network, func(ctx context.Context, c *gophercloud.ServiceClient) ([]Resource, error) {
		return every(ctx, networks.List(c, networks.ListOpts{ProjectID: project}), networks.ExtractNetworks, func(n networks.Network) Resource {
			return Resource{Type: TypeNetwork, ID: n.ID, Name: n.Name, State: n.Status}
		})
	}}, {i.Network, func(ctx context.Context, c *gophercloud.ServiceClient) ([]Resource, error) {
		return every(ctx, groups.List(c, groups.ListOpts{ProjectID: project}), groups.ExtractGroups, func(g groups.SecGroup) Resource {
			if g.Name == "default" {
				return Resource{}
			}
			return Resource{Type: TypeSecurityGroup, ID: g.ID, Name: g.Name, State: "present"}
		})
	}}}
}

// every reads all pages; elements without a type are left out.
func every[T any](ctx context.Context, pager pagination.Pager, extract func(pagination.Page) ([]T, error), read func(T) Resource) ([]Resource, error) {
	pages, err := pager.AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := extract(pages)
	if err != nil {
		return nil, err
	}
	var list []Resource
	for _, one := range all {
		if r := read(one); r.Type != "" {
			list = append(list, r)
		}
	}
	return list, nil
}

// removeSnapshot deletes a snapshot of a volume, and waits until it is gone: it holds the
// volume.
func (i Inventory) removeSnapshot(ctx context.Context, id string) error {
	client, err := i.Volume()
	if err != nil {
		return err
	}
	asked := false
	return wait(ctx, func() (string, bool, error) {
		s, err := snapshots.Get(ctx, client, id).Extract()
		if err = gone(err); err != nil {
			return "", err == errGone, skipGone(err)
		}
		switch {
		case s.Status == "error_deleting" && asked:
			return "", false, fmt.Errorf("the snapshot is in state %s", s.Status)
		case !asked && s.Status != "deleting":
			asked = true
			err := gone(snapshots.Delete(ctx, client, id).ExtractErr())
			return "deleting", err == errGone, skipGone(err)
		}
		return "snapshot is " + s.Status, false, nil
	})
}
