package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imagedata"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/flavorprofiles"
	balancerflavors "github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/slipway-sh/slipway/internal/sandbox"
)

// cloud is what the tests run on, with what gophercloud's script/stackenv makes
// in DevStack; other suites want no more.
type cloud struct {
	// url is Keystone's.
	url string
	// passwords are those of the users admin and demo, each of whom has a
	// project of that name.
	passwords   map[string]string
	environment map[string]string
	// balancers is the provider of the flavor of load balancers; empty makes none.
	balancers string
	// close ends a cloud that was made for the tests.
	close func() error
}

// login is the environment of one user, as gophercloud's clients read it.
func (c *cloud) login(user string) map[string]string {
	return map[string]string{"OS_AUTH_URL": c.url, "OS_USERNAME": user, "OS_PASSWORD": c.passwords[user],
		"OS_PROJECT_NAME": user, "OS_DOMAIN_ID": "default", "OS_REGION_NAME": sandbox.Region}
}

// admin is the login of an administrator of a project.
func (c *cloud) admin() map[string]string { return c.login("admin") }

// demo is that of a user who administers nothing.
func (c *cloud) demo() map[string]string { return c.login("demo") }

// systemAdmin is the administrator's without a project.
func (c *cloud) systemAdmin() map[string]string {
	login := c.admin()
	login["OS_SYSTEM_SCOPE"] = "all"
	return login
}

// prepare makes flavors, an image and the network private, and keeps their ids
// under the names that gophercloud's internal/acceptance/clients reads.
func (c *cloud) prepare(ctx context.Context) error {
	provider, err := openstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{IdentityEndpoint: c.url,
		Username: "admin", Password: c.passwords["admin"], TenantName: "admin", DomainID: "default"})
	if err != nil {
		return err
	}
	region := gophercloud.EndpointOpts{Region: sandbox.Region}
	compute, err := openstack.NewComputeV2(provider, region)
	if err != nil {
		return err
	}
	image, err := openstack.NewImageV2(provider, region)
	if err != nil {
		return err
	}
	network, err := openstack.NewNetworkV2(provider, region)
	if err != nil {
		return err
	}
	balancer, err := openstack.NewLoadBalancerV2(provider, region)
	if err != nil {
		return err
	}
	c.environment = map[string]string{"OS_BRANCH": "master", "OS_FLAVOR_ID": "99", "OS_FLAVOR_ID_RESIZE": "98",
		"OS_POOL_NAME": "public", "OS_NETWORK_NAME": "private", "OS_PORTFORWARDING_ENVIRONMENT": "1"}
	identity, err := openstack.NewIdentityV3(provider, region)
	if err != nil {
		return err
	}
	_, err = groups.Create(ctx, identity, groups.CreateOpts{Name: "admins", DomainID: "default"}).Extract() // as DevStack
	return errors.Join(unlessThere(err), makeFlavors(ctx, compute), c.makeImage(ctx, image), c.makeNetwork(ctx, network), c.makeBalancerFlavor(ctx, balancer))
}

// unlessThere forgives that something was made by an earlier run.
func unlessThere(err error) error {
	if gophercloud.ResponseCodeIs(err, http.StatusConflict) {
		return nil
	}
	return err
}

// balancerFlavor is the name of flavor and profile that the tests look for.
const balancerFlavor = "lb.acctest"

// makeBalancerFlavor makes the flavor of load balancers that the tests of
// OpenTofu's provider want in each of theirs.
func (c *cloud) makeBalancerFlavor(ctx context.Context, client *gophercloud.ServiceClient) error {
	if c.balancers == "" {
		return nil
	}
	profile, err := flavorprofiles.Create(ctx, client, flavorprofiles.CreateOpts{Name: balancerFlavor, ProviderName: c.balancers,
		FlavorData: `{"loadbalancer_topology": "SINGLE"}`}).Extract()
	if err != nil {
		return fmt.Errorf("creating a profile of load balancers: %w", err)
	}
	flavor, err := balancerflavors.Create(ctx, client, balancerflavors.CreateOpts{Name: balancerFlavor, FlavorProfileId: profile.ID, Enabled: true}).Extract()
	if err != nil {
		return fmt.Errorf("creating a flavor of load balancers: %w", err)
	}
	c.environment["OS_LB_FLAVOR_NAME"] = flavor.Name
	return nil
}

func makeFlavors(ctx context.Context, client *gophercloud.ServiceClient) error {
	for id, name := range map[string]string{"99": "m1.acctest", "98": "m1.resize"} {
		disk, ephemeral := map[string]int{"99": 10, "98": 11}[id], 10
		opts := flavors.CreateOpts{ID: id, Name: name, RAM: 512, VCPUs: 1, Disk: &disk, Ephemeral: &ephemeral}
		if err := unlessThere(flavors.Create(ctx, client, opts).Err); err != nil {
			return fmt.Errorf("creating flavor %s: %w", id, err)
		}
	}
	return nil
}

func (c *cloud) makeImage(ctx context.Context, client *gophercloud.ServiceClient) error {
	public := images.ImageVisibilityPublic
	made, err := images.Create(ctx, client, images.CreateOpts{Name: "cirros", DiskFormat: "raw", ContainerFormat: "bare", Visibility: &public}).Extract()
	if err != nil {
		return fmt.Errorf("creating an image: %w", err)
	}
	c.environment["OS_IMAGE_ID"], c.environment["OS_IMAGE_NAME"] = made.ID, made.Name
	if err := imagedata.Upload(ctx, client, made.ID, bytes.NewReader(make([]byte, 64<<10))).ExtractErr(); err != nil {
		return fmt.Errorf("uploading an image: %w", err)
	}
	return nil
}

func (c *cloud) makeNetwork(ctx context.Context, client *gophercloud.ServiceClient) error {
	yes := true
	pages, err := networks.List(client, external.ListOptsExt{ListOptsBuilder: networks.ListOpts{}, External: &yes}).AllPages(ctx)
	if err != nil {
		return fmt.Errorf("listing networks: %w", err)
	}
	public, err := networks.ExtractNetworks(pages)
	if err != nil || len(public) == 0 {
		return fmt.Errorf("finding the external network among %d: %w", len(public), err)
	}
	c.environment["OS_EXTGW_ID"] = public[0].ID
	if pages, err = networks.List(client, networks.ListOpts{Name: "private", Shared: &yes}).AllPages(ctx); err != nil {
		return fmt.Errorf("listing networks: %w", err)
	}
	before, err := networks.ExtractNetworks(pages)
	if err == nil && len(before) == 1 && len(before[0].Subnets) == 1 { // of an earlier run
		c.environment["OS_NETWORK_ID"], c.environment["OS_SUBNET_ID"] = before[0].ID, before[0].Subnets[0]
		return nil
	}
	private, err := networks.Create(ctx, client, networks.CreateOpts{Name: "private", Shared: &yes}).Extract()
	if err != nil {
		return fmt.Errorf("creating a network: %w", err)
	}
	subnet, err := subnets.Create(ctx, client, subnets.CreateOpts{Name: "private-subnet", NetworkID: private.ID,
		IPVersion: gophercloud.IPv4, CIDR: "10.0.0.0/22"}).Extract()
	if err != nil {
		return fmt.Errorf("creating a subnet: %w", err)
	}
	c.environment["OS_NETWORK_ID"], c.environment["OS_SUBNET_ID"] = private.ID, subnet.ID
	return nil
}
