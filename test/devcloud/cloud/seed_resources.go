package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/schedulerstats"
	volumeservices "github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/hypervisors"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/provider"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"sigs.k8s.io/yaml"
)

// machine is a flavor, in MiB and GB.
type machine struct {
	name            string
	cpus, ram, disk int
}

// machines are the flavors; the sandbox has the same.
var machines = [...]machine{
	{"m1.tiny", 1, 512, 1}, {"m1.small", 1, 2048, 20}, {"m1.medium", 2, 4096, 40}, {"m1.large", 4, 8192, 80}, {"m1.xlarge", 8, 16384, 160},
	{"c1.small", 2, 2048, 20}, {"c1.medium", 4, 4096, 40}, {"v1.medium", 2, 4096, 0}, {"v1.large", 4, 8192, 0},
}

// emulated is the flavor of a cloud with machines for a seed: an emulated guest
// with more processors than the host is slower, not faster.
var emulated = machine{"e1.large", 2, 8192, 20}

// resources makes flavors and the external network, and waits for hypervisors
// and volumes.
func (s seed) resources(ctx context.Context) error {
	logged, err := s.login(ctx)
	if err != nil {
		return err
	}
	where := gophercloud.EndpointOpts{Region: region}
	compute, err := openstack.NewComputeV2(logged, where)
	if err != nil {
		return err
	}
	network, err := openstack.NewNetworkV2(logged, where)
	if err != nil {
		return err
	}
	volume, err := openstack.NewBlockStorageV3(logged, where)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	wanted := machines[:]
	if s.emulates {
		wanted = append(slices.Clone(wanted), emulated)
	}
	if err := poll(ctx, "the compute API", func() error { return makeFlavors(ctx, compute, wanted) }); err != nil {
		return err
	}
	if err := makeExternal(ctx, network, s.external); err != nil {
		return err
	}
	return errors.Join(poll(ctx, "hypervisors", func() error { return hostsUp(ctx, compute, s.hosts) }),
		poll(ctx, "volumes", func() error { return volumesUp(ctx, volume) }))
}

// makeFlavors may be tried again.
func makeFlavors(ctx context.Context, client *gophercloud.ServiceClient, wanted []machine) error {
	for i, m := range wanted {
		o := flavors.CreateOpts{ID: strconv.Itoa(i + 1), Name: m.name, VCPUs: m.cpus, RAM: m.ram, Disk: &m.disk}
		if err := flavors.Create(ctx, client, o).Err; err != nil && !gophercloud.ResponseCodeIs(err, 409) {
			return fmt.Errorf("creating flavor %s: %w", m.name, err)
		}
	}
	return nil
}

func makeExternal(ctx context.Context, client *gophercloud.ServiceClient, prefix netip.Prefix) error {
	yes, no := true, false
	plain := networks.CreateOpts{Name: "public", Shared: &no}
	flat := provider.CreateOptsExt{CreateOptsBuilder: plain, Segments: []provider.Segment{{NetworkType: "flat", PhysicalNetwork: "public"}}}
	made, err := networks.Create(ctx, client, external.CreateOptsExt{CreateOptsBuilder: flat, External: &yes}).Extract()
	if err != nil {
		return fmt.Errorf("creating the external network: %w", err)
	}
	whole := prefix.Addr()
	nth := func(n byte) string { four := whole.As4(); four[3] = n; return netip.AddrFrom4(four).String() }
	gateway := nth(1)
	_, err = subnets.Create(ctx, client, subnets.CreateOpts{Name: "public-subnet", NetworkID: made.ID, IPVersion: gophercloud.IPv4,
		CIDR: prefix.String(), GatewayIP: &gateway, EnableDHCP: &no,
		AllocationPools: []subnets.AllocationPool{{Start: nth(10), End: nth(254)}}}).Extract()
	if err != nil {
		return fmt.Errorf("creating the external subnet: %w", err)
	}
	return nil
}

// hostsUp tells what is missing until the scheduler knows all hypervisors.
func hostsUp(ctx context.Context, client *gophercloud.ServiceClient, wanted int) error {
	pages, err := hypervisors.List(client, nil).AllPages(ctx)
	if err != nil {
		return err
	}
	found, err := hypervisors.ExtractHypervisors(pages)
	if err != nil {
		return err
	}
	up := 0
	for _, h := range found {
		if h.State == "up" {
			up++
		}
	}
	if up < wanted {
		return fmt.Errorf("%d of %d hypervisors are up", up, wanted)
	}
	return nil
}

// volumesUp tells what is missing until a volume finds a backend.
func volumesUp(ctx context.Context, client *gophercloud.ServiceClient) error {
	pages, err := volumeservices.List(client, nil).AllPages(ctx)
	if err != nil {
		return err
	}
	found, err := volumeservices.ExtractServices(pages)
	if err != nil {
		return err
	}
	up := map[string]bool{}
	for _, s := range found {
		if s.State == "up" {
			up[s.Binary] = true
		}
	}
	if !up["cinder-volume"] || !up["cinder-scheduler"] {
		return fmt.Errorf("up are only %v", up)
	}
	// The scheduler refuses every volume until a backend has told it how much room it has.
	pages, err = schedulerstats.List(client, nil).AllPages(ctx)
	if err != nil {
		return err
	}
	pools, err := schedulerstats.ExtractStoragePools(pages)
	if err == nil && len(pools) == 0 {
		err = errors.New("the scheduler knows no backend")
	}
	return err
}

// writeClouds writes the file for OpenStack's clients.
func (s seed) writeClouds(path string) error {
	entry := func(name string) map[string]any {
		return map[string]any{
			"auth": map[string]any{"auth_url": "http://" + s.address + ":5000/v3", "username": name, "password": s.password,
				"project_name": name, "user_domain_id": "default", "project_domain_id": "default"},
			"region_name": region, "identity_api_version": "3", "interface": "public",
		}
	}
	text, err := yaml.Marshal(map[string]any{"clouds": map[string]any{"devcloud": entry("demo"), "devcloud-admin": entry("admin")}})
	if err != nil {
		return fmt.Errorf("encoding %s: %w", path, err)
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return os.Rename(path+".new", path)
}
