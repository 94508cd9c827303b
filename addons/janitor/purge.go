package janitor

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/snapshots"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// parallelDeletes is how many calls one cluster makes at a time.
const parallelDeletes = 4

// purge asks the cloud to delete resources, kind after kind. What the cloud refuses for now is left
// to the next attempt. So is what there is no time for, unless there was time for nothing. Other
// errors are joined, and stop nothing else. asked is called with every resource whose deletion was
// accepted.
func purge(ctx context.Context, c *cloud.Cloud, resources []Resource, asked func(Resource)) error {
	var mu sync.Mutex
	var failed []error
	accepted, late := 0, 0
	for _, kind := range kinds() {
		group := errgroup.Group{}
		group.SetLimit(parallelDeletes)
		for _, resource := range resources {
			if resource.Kind != kind {
				continue
			}
			group.Go(func() error {
				err := remove(ctx, c, resource)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					accepted++
					asked(resource)
				case gone(err), later(err):
				case ctx.Err() != nil:
					late++
				default:
					failed = append(failed, c.Fault("deleting "+resource.String(), err))
				}
				return nil
			})
		}
		_ = group.Wait() // errors are in failed
	}
	if late > 0 && accepted == 0 {
		failed = append(failed, fmt.Errorf("asking for %d deletions: %w", late, context.Cause(ctx)))
	}
	return errors.Join(failed...)
}

func remove(ctx context.Context, c *cloud.Cloud, resource Resource) error {
	client, err := c.Client(serviceOf(resource.Kind))
	if err != nil {
		return err
	}
	switch resource.Kind {
	case kindAddress:
		return floatingips.Delete(ctx, client, resource.ID).ExtractErr()
	case kindBalancer:
		return loadbalancers.Delete(ctx, client, resource.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr()
	case kindGroup:
		return groups.Delete(ctx, client, resource.ID).ExtractErr()
	case kindSnapshot:
		return snapshots.Delete(ctx, client, resource.ID).ExtractErr()
	case kindVolume:
		return volumes.Delete(ctx, client, resource.ID, volumes.DeleteOpts{}).ExtractErr()
	}
	return fmt.Errorf("kind %q is unknown", resource.Kind)
}

func serviceOf(kind string) cloud.Service {
	switch kind {
	case kindBalancer:
		return cloud.LoadBalancer
	case kindSnapshot, kindVolume:
		return cloud.Volume
	}
	return cloud.Network
}
