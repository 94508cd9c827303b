package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/mtu"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/slipway-sh/slipway/addons/magnum/keystone"
)

// Image is a node image.
type Image struct {
	// ID in Glance.
	ID string
	// OSDistro, KubeVersion, Driver and Architecture are the properties os_distro,
	// kube_version, magnum_driver and architecture; "" where there is none.
	OSDistro, KubeVersion, Driver, Architecture string
}

// Flavor is a size of machines.
type Flavor struct {
	// ID in Nova.
	ID string
	// RAM is in MiB, Disk in GiB.
	RAM, VCPUs, Disk int
}

// isID reports whether a reference looks like an id of Glance or Neutron.
func isID(ref string) bool { return uuid.Validate(ref) == nil }

// Image finds an image by id or name.
func (c *Cloud) Image(ctx context.Context, t *keystone.Token, ref string) (Image, error) {
	object := fmt.Sprintf("image %q", ref)
	client, err := c.image(t, object)
	if err != nil {
		return Image{}, err
	}
	return ask(ctx, c, t, object, func(ctx context.Context) (Image, error) {
		if isID(ref) {
			found, err := images.Get(ctx, client, ref).Extract()
			if err == nil {
				return newImage(found), nil
			}
			if err = failed(object, err); !errors.Is(err, ErrNotFound) {
				return Image{}, err
			}
		}
		list, err := all(ctx, images.List(client, images.ListOpts{Name: ref}), images.ExtractImages)
		if err != nil {
			return Image{}, failed(object, err)
		}
		found, err := one(object, list)
		if err != nil {
			return Image{}, err
		}
		return newImage(&found), nil
	})
}

func newImage(i *images.Image) Image {
	property := func(name string) string {
		text, _ := i.Properties[name].(string)
		return strings.TrimSpace(text)
	}
	return Image{i.ID, strings.ToLower(property("os_distro")), property("kube_version"), property("magnum_driver"), property("architecture")}
}

// Flavors finds flavors by id or name, in the order of refs: with one call,
// for Nova cannot be asked by name.
func (c *Cloud) Flavors(ctx context.Context, t *keystone.Token, refs ...string) ([]Flavor, error) {
	client, err := c.compute(t, fmt.Sprintf("flavor %q", refs))
	if err != nil {
		return nil, err
	}
	list, err := ask(ctx, c, t, "flavors", func(ctx context.Context) ([]flavors.Flavor, error) {
		list, err := all(ctx, flavors.ListDetail(client, flavors.ListOpts{}), flavors.ExtractFlavors)
		return list, failed("flavors", err)
	})
	if err != nil {
		return nil, err
	}
	found := make([]Flavor, len(refs))
	for i, ref := range refs {
		if found[i], err = findFlavor(list, ref); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// findFlavor leaves list as it is, for others read it too.
func findFlavor(list []flavors.Flavor, ref string) (Flavor, error) {
	var named []flavors.Flavor
	for _, f := range list {
		if f.ID == ref {
			return newFlavor(f), nil
		}
		if f.Name == ref {
			named = append(named, f)
		}
	}
	found, err := one(fmt.Sprintf("flavor %q", ref), named)
	return newFlavor(found), err
}

func newFlavor(f flavors.Flavor) Flavor { return Flavor{f.ID, f.RAM, f.VCPUs, f.Disk} }

// Keypair makes sure that the caller has a keypair.
func (c *Cloud) Keypair(ctx context.Context, t *keystone.Token, name string) error {
	object := fmt.Sprintf("keypair %q", name)
	client, err := c.compute(t, object)
	if err != nil {
		return err
	}
	_, err = ask(ctx, c, t, object, func(ctx context.Context) (*keypairs.KeyPair, error) {
		found, err := keypairs.Get(ctx, client, url.PathEscape(name), nil).Extract()
		return found, failed(object, err)
	})
	return err
}

// Network finds a network by id or name and returns its id. An external one
// must have router:external.
func (c *Cloud) Network(ctx context.Context, t *keystone.Token, ref string, external bool) (string, error) {
	object, query := fmt.Sprintf("network %q", ref), ""
	if external {
		object, query = fmt.Sprintf("external network %q", ref), "&router:external=True"
	}
	client, err := c.network(t, object)
	if err != nil {
		return "", err
	}
	return ask(ctx, c, t, object, func(ctx context.Context) (string, error) {
		return byIDOrName(object, ref, func(o networkQuery) ([]string, error) {
			o.extra = query
			list, err := all(ctx, networks.List(client, o), networks.ExtractNetworks)
			var ids []string
			for _, n := range list {
				ids = append(ids, n.ID)
			}
			return ids, err
		})
	})
}

// NetworkMTU reads the MTU of a network by its id, in bytes; 0 where Neutron has
// no extension net-mtu.
func (c *Cloud) NetworkMTU(ctx context.Context, t *keystone.Token, id string) (int, error) {
	object := fmt.Sprintf("network %q", id)
	client, err := c.network(t, object)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	var found mtu.NetworkMTUExt
	err = networks.Get(ctx, client, id).ExtractInto(&found)
	return found.MTU, failed(object, err)
}

// Subnet finds a subnet by id or name, of a network when networkID is given,
// and returns its id.
func (c *Cloud) Subnet(ctx context.Context, t *keystone.Token, ref, networkID string) (string, error) {
	object := fmt.Sprintf("subnet %q", ref)
	client, err := c.network(t, object)
	if err != nil {
		return "", err
	}
	return ask(ctx, c, t, object+" of "+networkID, func(ctx context.Context) (string, error) {
		return byIDOrName(object, ref, func(o networkQuery) ([]string, error) {
			list, err := all(ctx, subnets.List(client, subnets.ListOpts{ID: o.id, Name: o.name, NetworkID: networkID}), subnets.ExtractSubnets)
			var ids []string
			for _, s := range list {
				ids = append(ids, s.ID)
			}
			return ids, err
		})
	})
}

// networkQuery is a query of Neutron by id or name.
type networkQuery struct{ id, name, extra string }

// ToNetworkListQuery is gophercloud's interface.
func (q networkQuery) ToNetworkListQuery() (string, error) {
	base, err := gophercloud.BuildQueryString(networks.ListOpts{ID: q.id, Name: q.name})
	if err != nil {
		return "", err
	}
	return base.String() + q.extra, nil
}

func byIDOrName(object, ref string, list func(networkQuery) ([]string, error)) (string, error) {
	if isID(ref) {
		ids, err := list(networkQuery{id: ref})
		if err != nil {
			return "", failed(object, err)
		}
		if len(ids) == 1 {
			return ids[0], nil
		}
	}
	ids, err := list(networkQuery{name: ref})
	if err != nil {
		return "", failed(object, err)
	}
	return one(object, ids)
}

// all is what a list has on all of its pages. It reads each page once; AllPages
// of gophercloud reads them several times over.
func all[T any](ctx context.Context, pager pagination.Pager, extract func(pagination.Page) ([]T, error)) (list []T, err error) {
	err = pager.EachPage(ctx, func(_ context.Context, page pagination.Page) (bool, error) {
		some, err := extract(page)
		list = append(list, some...)
		return err == nil, err
	})
	return list, err
}
