package openstack

import (
	"context"
	"maps"
	"slices"

	blocklimits "github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/limits"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/limits"
	"golang.org/x/sync/errgroup"
)

// Usage is a project's use of its quotas, by name.
type Usage map[string]int

// Names are the names, sorted.
func (u Usage) Names() []string { return slices.Sorted(maps.Keys(u)) }

// Usage reads from the services what the project uses. It leaves out services that the
// cloud does not have.
func (i Inventory) Usage(ctx context.Context) (Usage, error) {
	var compute, volume, network Usage
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { return again(ctx, func() error { compute, err = i.computeUsage(ctx); return err }) })
	group.Go(func() (err error) { return again(ctx, func() error { volume, err = i.volumeUsage(ctx); return err }) })
	group.Go(func() (err error) { return again(ctx, func() error { network, err = i.networkUsage(ctx); return err }) })
	if err := group.Wait(); err != nil {
		return nil, explain("usage of the project", err)
	}
	all := Usage{}
	maps.Copy(all, compute)
	maps.Copy(all, volume)
	maps.Copy(all, network)
	return all, nil
}

func (i Inventory) computeUsage(ctx context.Context) (Usage, error) {
	client, err := i.Compute()
	if err != nil {
		return nil, err
	}
	l, err := limits.Get(ctx, client, nil).Extract()
	if err != nil {
		return nil, err
	}
	return Usage{"servers": l.Absolute.TotalInstancesUsed, "cores": l.Absolute.TotalCoresUsed, "memory MiB": l.Absolute.TotalRAMUsed}, nil
}

func (i Inventory) volumeUsage(ctx context.Context) (Usage, error) {
	client, err := i.Volume()
	if err != nil {
		return nil, absent(err)
	}
	l, err := blocklimits.Get(ctx, client).Extract()
	if err != nil {
		return nil, err
	}
	return Usage{"volumes": l.Absolute.TotalVolumesUsed, "volume GiB": l.Absolute.TotalGigabytesUsed}, nil
}

// networkUsage counts lists: only some clouds show members the usage of networks.
func (i Inventory) networkUsage(ctx context.Context) (Usage, error) {
	client, err := i.Network()
	if err != nil {
		return nil, err
	}
	usage := Usage{}
	for name, path := range map[string]string{"networks": "networks", "subnets": "subnets", "routers": "routers", "ports": "ports",
		"security groups": "security-groups", "floating IPs": "floatingips"} {
		var body map[string][]struct {
			ID string `json:"id"`
		}
		if _, err := client.Get(ctx, client.ServiceURL(path)+"?fields=id", &body, nil); err != nil {
			return nil, err
		}
		for _, list := range body {
			usage[name] = len(list)
		}
	}
	return usage, nil
}
