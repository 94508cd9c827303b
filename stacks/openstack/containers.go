package openstack

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/containers"
	"golang.org/x/sync/errgroup"

	"github.com/slipway-sh/slipway/internal/cloud"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// OwnedContainer is a container of an object store with an ownership tag.
type OwnedContainer struct {
	Name    string
	Step    string
	Objects int64
}

// containersAtOnce is how many containers are read in parallel: Swift tells the metadata of one at a
// time.
const containersAtOnce = 16

// OwnedContainers lists the containers of the project with the ownership tag of an environment. There
// are none where the cloud has no object store, or the login may not list them: then it made none.
func (i Inventory) OwnedContainers(ctx context.Context, environment string) ([]OwnedContainer, error) {
	client, err := i.ObjectStore()
	if errors.Is(err, cloud.ErrNoService) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pages, err := containers.List(client, containers.ListOpts{}).AllPages(ctx)
	if gophercloud.ResponseCodeIs(err, http.StatusForbidden) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := containers.ExtractNames(pages)
	if err != nil {
		return nil, err
	}
	found := make([]OwnedContainer, len(names))
	group, inside := errgroup.WithContext(ctx)
	group.SetLimit(containersAtOnce)
	for n, name := range names {
		group.Go(func() (err error) {
			found[n], err = readContainer(inside, client, environment, name)
			return err
		})
	}
	err = group.Wait()
	return slices.DeleteFunc(found, func(c OwnedContainer) bool { return c.Step == "" }), err
}

// readContainer returns a container without a step if it is not the environment's, or gone.
func readContainer(ctx context.Context, client *gophercloud.ServiceClient, environment, name string) (OwnedContainer, error) {
	answer := containers.Get(ctx, client, name, nil)
	if err := gone(answer.Err); err != nil {
		return OwnedContainer{}, skipGone(err)
	}
	header, err := answer.Extract()
	if err != nil {
		return OwnedContainer{}, err
	}
	meta, err := answer.ExtractMetadata()
	if err != nil {
		return OwnedContainer{}, err
	}
	owner, ok := ownership.FromDescription(meta[containerOwner])
	if !ok || owner.Environment != environment {
		return OwnedContainer{}, nil
	}
	return OwnedContainer{Name: name, Step: owner.Step, Objects: header.ObjectCount}, nil
}
