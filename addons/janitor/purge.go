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

// purge asks the cloud to delete things, kind after kind. What it refuses for
// now is left to the next attempt; other errors are joined, and stop nothing
// else. asked is told of every thing whose deletion was accepted.
func purge(ctx context.Context, c *cloud.Cloud, things []Thing, asked func(Thing)) error {
	var mu sync.Mutex
	var failed []error
	for _, kind := range kinds() {
		group := errgroup.Group{}
		group.SetLimit(parallelDeletes)
		for _, thing := range things {
			if thing.Kind != kind {
				continue
			}
			group.Go(func() error {
				err := remove(ctx, c, thing)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					asked(thing)
				case gone(err), later(err):
				default:
					failed = append(failed, c.Fault("deleting "+thing.String(), err))
				}
				return nil
			})
		}
		_ = group.Wait() // errors are in failed
	}
	return errors.Join(failed...)
}

func remove(ctx context.Context, c *cloud.Cloud, thing Thing) error {
	client, err := c.Client(serviceOf(thing.Kind))
	if err != nil {
		return err
	}
	switch thing.Kind {
	case kindAddress:
		return floatingips.Delete(ctx, client, thing.ID).ExtractErr()
	case kindBalancer:
		return loadbalancers.Delete(ctx, client, thing.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr()
	case kindGroup:
		return groups.Delete(ctx, client, thing.ID).ExtractErr()
	case kindSnapshot:
		return snapshots.Delete(ctx, client, thing.ID).ExtractErr()
	case kindVolume:
		return volumes.Delete(ctx, client, thing.ID, volumes.DeleteOpts{}).ExtractErr()
	}
	return fmt.Errorf("kind %q is unknown", thing.Kind)
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
