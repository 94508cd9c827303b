package openstack

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
)

// balancers lists those of clusters' APIs: the environment itself creates none.
func (i Inventory) balancers(ctx context.Context, environment string, seen *exposed) (list []Resource, err error) {
	client, err := i.LoadBalancer()
	if err != nil {
		return nil, absent(err)
	}
	pages, err := loadbalancers.List(client, loadbalancers.ListOpts{ProjectID: projectOf(client)}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := loadbalancers.ExtractLoadBalancers(pages)
	seen.balancers = all
	for _, b := range all {
		list = appendOwned(list, environment, TypeLoadBalancer, b.ID, b.Name, b.ProvisioningStatus, b.Tags, nil, b.Description)
	}
	return list, err
}

// removeBalancer deletes a load balancer with all its parts, and waits until it is gone:
// its port would block the subnet.
func (i Inventory) removeBalancer(ctx context.Context, id string) error {
	client, err := i.LoadBalancer()
	if err != nil {
		return err
	}
	asked := false
	return wait(ctx, func() (string, bool, error) {
		b, err := loadbalancers.Get(ctx, client, id).Extract()
		if err = gone(err); err != nil {
			return "", err == errGone, skipGone(err)
		}
		switch b.ProvisioningStatus {
		case "DELETED":
			return "", true, nil
		case "ACTIVE", "ERROR": // in all other states Octavia answers 409
			err := gone(loadbalancers.Delete(ctx, client, id, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr())
			status := "deleting"
			if asked && b.ProvisioningStatus == "ERROR" { // each attempt ends there again
				status = vainly + "the load balancer is in ERROR, and was not deleted"
			}
			asked = true
			return status, err == errGone, skipGone(err)
		}
		return "load balancer is " + b.ProvisioningStatus, false, nil
	})
}
