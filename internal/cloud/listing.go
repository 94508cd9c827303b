package cloud

import (
	"context"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/providers"
	"github.com/gophercloud/gophercloud/v2/pagination"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/ownership"
)

// The names of the listings, for Snapshot.Known.
const (
	ListNetworks    = "networks"
	ListExtensions  = "extensions"
	ListFlavors     = "flavors"
	ListImages      = "images"
	ListVolumeTypes = "volume types"
	ListProviders   = "load balancer providers"
	ListZones       = "availability zones"
	ListFloatingIPs = "floating IPs"
	ListQuotas      = "quotas"
	ListKeyPairs    = "key pairs"
	ListServers     = "servers"
	ListVolumes     = "volumes"
	ListRouters     = "routers"
	ListGroups      = "security groups"
	ListPorts       = "ports"
	ListBalancers   = "load balancers"
	ListListeners   = "listeners"
	ListPools       = "pools"
	ListSubnets     = "subnets"
	ListCredentials = "application credentials"
)

// listings are the calls of a snapshot.
func listings() []listing {
	return append(append([]listing{
		{Identity, ListCredentials, listCredentials},
		{Image, ListImages, listImages},
		{LoadBalancer, ListProviders, listProviders},
		{LoadBalancer, ListBalancers, listBalancers},
		{LoadBalancer, ListQuotas, everyBalancerQuota},
	}, networkListings()...), machineListings()...)
}

// diagnosis are the calls of a diagnosis.
func diagnosis() []listing {
	return []listing{
		{Compute, ListServers, listServers}, {Compute, ListFlavors, listFlavors}, {Compute, ListKeyPairs, listKeyPairs}, {Compute, ListQuotas, computeQuotas},
		{Network, ListPorts, listPorts}, {Network, ListNetworks, listNetworks}, {Network, ListSubnets, listSubnets}, {Network, ListRouters, listRouters}, {Network, ListGroups, listGroups},
		{Network, ListFloatingIPs, listFloatingIPs}, {Network, ListQuotas, networkQuotas}, {Volume, ListVolumes, listVolumes}, {Volume, ListQuotas, volumeQuotas},
		{Image, ListImages, listEveryImage}, {LoadBalancer, ListBalancers, listBalancers}, {LoadBalancer, ListQuotas, balancerQuotas},
		{LoadBalancer, ListListeners, listListeners}, {LoadBalancer, ListPools, listPools},
	}
}

// inventory are the calls of an inventory.
func inventory() []listing {
	return []listing{
		{Compute, ListServers, listServers}, {Volume, ListVolumes, listVolumes}, {LoadBalancer, ListBalancers, listBalancers},
		{Network, ListFloatingIPs, listFloatingIPs}, {Network, ListPorts, listPorts},
	}
}

// every collects all pages of a list, each element turned by one.
func every[T, R any](ctx context.Context, pager pagination.Pager, extract func(pagination.Page) ([]T, error), one func(T) R) ([]R, error) {
	page, err := pager.AllPages(ctx)
	if err != nil {
		return nil, err
	}
	found, err := extract(page)
	if err != nil {
		return nil, err
	}
	all := make([]R, 0, len(found))
	for _, t := range found {
		all = append(all, one(t))
	}
	return all, nil
}

// Token is who is logged in, from the answer to the login: no further call is
// made.
func (c *Cloud) Token() (Token, error) {
	var t Token
	answer, ok := c.Provider.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return t, nil // a token that was given, not asked for
	}
	var body struct {
		User struct {
			ID, Name string
			Expires  string `json:"password_expires_at"`
		} `json:"user"`
		Project    struct{ ID, Name string } `json:"project"`
		Roles      []struct{ Name string }   `json:"roles"`
		Credential struct{ ID string }       `json:"application_credential"`
	}
	if err := answer.ExtractInto(&body); err != nil {
		return t, err
	}
	t = Token{UserID: body.User.ID, UserName: body.User.Name, ProjectID: body.Project.ID, ProjectName: body.Project.Name, CredentialID: body.Credential.ID}
	if at, err := time.Parse(gophercloud.RFC3339MilliNoZ, body.User.Expires); err == nil { // it is null for most users
		t.PasswordExpiresAt = at
	}
	for _, role := range body.Roles {
		t.Roles = append(t.Roles, role.Name)
	}
	token, err := answer.ExtractToken()
	if err != nil {
		return t, err
	}
	t.ExpiresAt = token.ExpiresAt
	return t, nil
}

func listCredentials(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) (err error) {
	s.Credentials, err = every(ctx, applicationcredentials.List(client, s.Token.UserID, nil), applicationcredentials.ExtractApplicationCredentials,
		func(a applicationcredentials.ApplicationCredential) CredentialInfo {
			return CredentialInfo{Resource: resource("application credential", a.ID, a.Name, nil, nil, a.Description), ProjectID: a.ProjectID,
				Region: ownership.RegionIn(a.Description), Unrestricted: a.Unrestricted, ExpiresAt: a.ExpiresAt}
		})
	return err
}

func listImages(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) (err error) {
	s.Images, err = imagesBy(ctx, client, images.ListOpts{Limit: 500})
	return err
}

// listEveryImage adds those that Glance lists only when asked for: of the community, shared and
// not accepted yet, and hidden. Machines are made of them by their ID.
func listEveryImage(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) error {
	lists := []images.ListOpts{{Limit: 500}, {Limit: 500, Visibility: "all", MemberStatus: images.ImageMemberStatusAll}, {Limit: 500, Visibility: "all", MemberStatus: images.ImageMemberStatusAll, Hidden: true}}
	found := make([][]ImageInfo, len(lists))
	group, ctx := errgroup.WithContext(ctx)
	for n, o := range lists {
		group.Go(func() (err error) { found[n], err = imagesBy(ctx, client, o); return err })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	known := map[string]bool{}
	for n, list := range found {
		for _, i := range list {
			if i.Unlisted = n > 0; !known[i.ID] {
				known[i.ID] = true
				s.Images = append(s.Images, i)
			}
		}
	}
	return nil
}

func imagesBy(ctx context.Context, client *gophercloud.ServiceClient, o images.ListOpts) ([]ImageInfo, error) {
	return every(ctx, images.List(client, o), images.ExtractImages, func(i images.Image) ImageInfo {
		properties := map[string]string{}
		for key, value := range i.Properties {
			if text, ok := value.(string); ok {
				properties[key] = text
			}
		}
		return ImageInfo{Resource: resource("image", i.ID, i.Name, i.Tags, properties, ""), ProjectID: i.Owner, Status: string(i.Status), CreatedAt: i.CreatedAt, MinDisk: i.MinDiskGigabytes,
			MinRAM: i.MinRAMMegabytes, Distro: properties["os_distro"], AdminUser: properties["os_admin_user"], Properties: properties}
	})
}

func listProviders(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) (err error) {
	s.Providers, err = every(ctx, providers.List(client, providers.ListOpts{}), providers.ExtractProviders, func(p providers.Provider) string { return p.Name })
	return err
}

func listBalancers(ctx context.Context, client *gophercloud.ServiceClient, s *Snapshot) (err error) {
	s.Balancers, err = every(ctx, loadbalancers.List(client, loadbalancers.ListOpts{ProjectID: s.Token.ProjectID}), loadbalancers.ExtractLoadBalancers,
		func(b loadbalancers.LoadBalancer) BalancerInfo {
			return BalancerInfo{Resource: resource("load balancer", b.ID, b.Name, b.Tags, nil, b.Description), Provisioning: b.ProvisioningStatus, Operating: b.OperatingStatus,
				Disabled: !b.AdminStateUp, Created: b.CreatedAt, Updated: b.UpdatedAt, PortID: b.VipPortID, Provider: b.Provider}
		})
	return err
}
