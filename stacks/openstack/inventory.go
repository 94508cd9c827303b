package openstack

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// Resource is a resource in OpenStack that belongs to an environment.
type Resource struct {
	Type  string `json:"type"`
	ID    string `json:"id"`
	Name  string `json:"name"`
	Step  string `json:"step"`
	State string `json:"state"`
}

// The types of resources, in the order in which they can be deleted.
const (
	TypeLoadBalancer  = "load balancer"
	TypeServer        = "server"
	TypeFloatingIP    = "floating IP"
	TypeRouter        = "router"
	TypePort          = "port"
	TypeSubnet        = "subnet"
	TypeNetwork       = "network"
	TypeSecurityGroup = "security group"
	TypeSnapshot      = "snapshot"
	TypeVolume        = "volume"
	TypeImage         = "image"
	TypeKeyPair       = "key pair"
	TypeCredential    = "application credential"
	// TypeContainer is one of a cluster. It is in no Inventory.List: clusters delete their own.
	TypeContainer = "container"
)

// deletionOrder lists the types, those that others depend on last.
func deletionOrder() []string {
	return []string{TypeLoadBalancer, TypeServer, TypeFloatingIP, TypeRouter, TypePort, TypeSubnet, TypeNetwork,
		TypeSecurityGroup, TypeSnapshot, TypeVolume, TypeImage, TypeKeyPair, TypeCredential}
}

// Inventory finds the resources of environments by their ownership tags.
type Inventory struct {
	Clients
	// UserID is the user of the clients' login: application credentials and key pairs
	// belong to a user.
	UserID string
	// KeyPairs are the steps that create key pairs, which carry no ownership tag but
	// their name.
	KeyPairs []string
}

// List returns the resources of the environment in the order of deletion: those with its
// ownership tag, and those that Services of its cluster have on its networks. It makes one
// list call per kind, in parallel, and skips services that the cloud does not have.
func (i Inventory) List(ctx context.Context, environment string) ([]Resource, error) {
	var seen exposed
	listers := []func(context.Context) ([]Resource, error){
		func(ctx context.Context) ([]Resource, error) { return i.servers(ctx, environment) },
		func(ctx context.Context) ([]Resource, error) { return i.balancers(ctx, environment, &seen) },
		func(ctx context.Context) ([]Resource, error) { return i.keyPairs(ctx, environment) },
		func(ctx context.Context) ([]Resource, error) { return i.volumes(ctx, environment) },
		func(ctx context.Context) ([]Resource, error) { return i.images(ctx, environment) },
		func(ctx context.Context) ([]Resource, error) { return i.credentials(ctx, environment) },
		func(ctx context.Context) ([]Resource, error) { return i.floatingIPs(ctx, environment, &seen) },
		func(ctx context.Context) ([]Resource, error) { return i.routers(ctx, environment) },
		func(ctx context.Context) ([]Resource, error) { return i.ports(ctx, environment, &seen) },
		func(ctx context.Context) ([]Resource, error) { return i.subnets(ctx, environment) },
		func(ctx context.Context) ([]Resource, error) { return i.networks(ctx, environment) },
		func(ctx context.Context) ([]Resource, error) { return i.securityGroups(ctx, environment, &seen) },
	}
	found := make([][]Resource, len(listers))
	group, ctx := errgroup.WithContext(ctx)
	for n, list := range listers {
		group.Go(func() (err error) {
			return again(ctx, func() error { found[n], err = list(ctx); return err })
		})
	}
	if err := group.Wait(); err != nil {
		return nil, explain("inventory of "+environment, err)
	}
	things := slices.Concat(found...)
	things = append(things, seen.of(environment, things)...)
	order := deletionOrder()
	slices.SortStableFunc(things, func(a, b Resource) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Type), slices.Index(order, b.Type)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return things, nil
}

// appendOwned appends a Resource of a resource with the environment's ownership tag.
func appendOwned(list []Resource, environment, kind, id, name, state string, tags []string, metadata map[string]string, description string) []Resource {
	mark, ok := ownership.Find(tags, metadata, description)
	if !ok || mark.Environment != environment {
		return list
	}
	return append(list, Resource{Type: kind, ID: id, Name: cmp.Or(name, mark.Name()), Step: mark.Step, State: state})
}

func (i Inventory) servers(ctx context.Context, environment string) (list []Resource, err error) {
	client, err := i.Compute()
	if err != nil {
		return nil, err
	}
	pages, err := servers.List(client, servers.ListOpts{}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := servers.ExtractServers(pages)
	for _, s := range all {
		list = appendOwned(list, environment, TypeServer, s.ID, s.Name, s.Status, nil, s.Metadata, "")
	}
	return list, err
}

func (i Inventory) keyPairs(ctx context.Context, environment string) (list []Resource, err error) {
	client, err := i.Compute()
	if err != nil {
		return nil, err
	}
	for _, step := range i.KeyPairs {
		mark := ownership.New(environment, step)
		pair, err := keypairs.Get(ctx, client, mark.Name(), nil).Extract()
		switch err = gone(err); {
		case err == nil:
			list = append(list, Resource{Type: TypeKeyPair, ID: pair.Name, Name: pair.Name, Step: step, State: "present"})
		case err != errGone:
			return nil, err
		}
	}
	return list, nil
}

func (i Inventory) volumes(ctx context.Context, environment string) (list []Resource, err error) {
	client, err := i.Volume()
	if err != nil {
		return nil, absent(err)
	}
	pages, err := volumes.List(client, volumes.ListOpts{}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := volumes.ExtractVolumes(pages)
	for _, v := range all {
		list = appendOwned(list, environment, TypeVolume, v.ID, v.Name, v.Status, nil, v.Metadata, v.Description)
	}
	return list, err
}

func (i Inventory) images(ctx context.Context, environment string) (list []Resource, err error) {
	client, err := i.Image()
	if err != nil {
		return nil, absent(err)
	}
	pages, err := images.List(client, images.ListOpts{Owner: projectOf(client)}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := images.ExtractImages(pages)
	for _, m := range all {
		if m.Visibility != images.ImageVisibilityPrivate && !lent(m) {
			continue
		}
		list = appendOwned(list, environment, TypeImage, m.ID, m.Name, string(m.Status), m.Tags, texts(m.Properties), "")
	}
	return list, err
}

func (i Inventory) credentials(ctx context.Context, environment string) ([]Resource, error) {
	return i.credentialsAt(ctx, environment, Here)
}

// UnclearCredentials lists application credentials of an environment of the name, of which
// nobody can tell in which region it is.
func (i Inventory) UnclearCredentials(ctx context.Context, environment string) (list []Resource, err error) {
	err = again(ctx, func() error { list, err = i.credentialsAt(ctx, environment, Unclear); return err })
	if err != nil {
		return nil, explain("application credentials of "+environment, err)
	}
	return list, nil
}

func (i Inventory) credentialsAt(ctx context.Context, environment string, at Belonging) (list []Resource, err error) {
	client, err := i.Identity()
	if err != nil {
		return nil, err
	}
	pages, err := applicationcredentials.List(client, i.UserID, nil).AllPages(ctx)
	if gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
		return nil, nil // a restricted credential may not list them, and has created none
	}
	if err != nil {
		return nil, err
	}
	all, err := applicationcredentials.ExtractApplicationCredentials(pages)
	for _, c := range all {
		if elsewhere(client, c) || Belongs(i, c.Description) != at {
			continue
		}
		list = appendOwned(list, environment, TypeCredential, c.ID, c.Name, "present", nil, nil, c.Description)
	}
	return list, err
}

// elsewhere reports whether a credential is for another project than who asks: Keystone lists all
// of a user's together.
func elsewhere(client *gophercloud.ServiceClient, c applicationcredentials.ApplicationCredential) bool {
	project := projectOf(client)
	return project != "" && c.ProjectID != "" && c.ProjectID != project
}

// absent drops the error for a service that the cloud does not have.
func absent(err error) error {
	if errors.Is(err, cloud.ErrNoService) {
		return nil
	}
	return err
}
