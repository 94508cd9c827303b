package janitor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// survey finds what has a cluster's name in its project.
type survey struct {
	cloud   *cloud.Cloud
	project string
	target  target
	volumes bool

	resources []Resource
	// vips are the ports of the load balancers that were found.
	vips map[string]claim
}

// run fills resources. An unreadable list is an error: what is not seen would be left behind (row
// F150).
func (s *survey) run(ctx context.Context) error {
	s.vips = map[string]claim{}
	steps := []struct {
		what string
		list func(context.Context) error
	}{{"load balancers", s.balancers}, {"floating IPs", s.addresses}, {"security groups", s.groups}, {"volumes", s.storage}}
	var failed []error
	for _, step := range steps {
		if err := step.list(ctx); err != nil {
			failed = append(failed, s.cloud.Fault("listing "+step.what, err))
		}
	}
	return errors.Join(failed...)
}

// each calls one with every element of every page.
func each[T any](ctx context.Context, pager pagination.Pager, extract func(pagination.Page) ([]T, error), one func(T) error) error {
	return pager.EachPage(ctx, func(_ context.Context, page pagination.Page) (bool, error) {
		elements, err := extract(page)
		if err != nil {
			return false, err
		}
		for _, element := range elements {
			if err := one(element); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// elsewhere reports whether a resource belongs to another project: credentials of administrators
// see all projects.
func (s *survey) elsewhere(project string) bool { return project != "" && project != s.project }

func (s *survey) balancers(ctx context.Context) error {
	client, err := s.cloud.LoadBalancer()
	if errors.Is(err, cloud.ErrNoService) {
		return nil // then nobody made any
	}
	if err != nil {
		return err
	}
	var found []loadbalancers.LoadBalancer
	err = each(ctx, loadbalancers.List(client, loadbalancers.ListOpts{ProjectID: s.project}), loadbalancers.ExtractLoadBalancers, func(b loadbalancers.LoadBalancer) error {
		if BalancerOf(b.Name, s.target.name) && !s.elsewhere(b.ProjectID) && b.ProvisioningStatus != "DELETED" {
			found = append(found, b)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, b := range found {
		resource := Resource{Kind: kindBalancer, ID: b.ID, Name: b.Name}
		if resource.claim, err = s.claimBalancer(ctx, client, b); err != nil {
			return err
		}
		if strings.HasPrefix(b.ProvisioningStatus, "PENDING_") {
			resource.busy, resource.Why = true, b.ProvisioningStatus
		}
		s.vips[b.VipPortID] = resource.claim
		s.resources = append(s.resources, resource)
	}
	return nil
}

// claimBalancer checks in which network the address is. If that is not the cluster's, as Services
// may ask for, it checks where the members are.
func (s *survey) claimBalancer(ctx context.Context, client *gophercloud.ServiceClient, b loadbalancers.LoadBalancer) (claim, error) {
	if s.target.networks[b.VipNetworkID] || s.target.subnets[b.VipSubnetID] {
		return ours, nil
	}
	if len(s.target.subnets) == 0 {
		return unclaimed, nil
	}
	result := unclaimed
	err := each(ctx, pools.List(client, pools.ListOpts{LoadbalancerID: b.ID}), pools.ExtractPools, func(p pools.Pool) error {
		return each(ctx, pools.ListMembers(client, p.ID, nil), pools.ExtractMembers, func(m pools.Member) error {
			switch {
			case s.target.subnets[m.SubnetID]:
				result = ours
			case m.SubnetID != "" && result == unclaimed:
				result = foreign
			}
			return nil
		})
	})
	if err == nil && result == unclaimed {
		return s.claimNetwork(ctx, b.VipNetworkID)
	}
	if gone(err) { // between the list and the look
		return unclaimed, nil
	}
	return result, err
}

// claimNetwork goes by the name that CAPO gives to networks: a network of another cluster with the
// target's name shows that there is such a cluster.
func (s *survey) claimNetwork(ctx context.Context, id string) (claim, error) {
	client, err := s.cloud.Network()
	if err != nil {
		return unclaimed, err
	}
	network, err := networks.Get(ctx, client, id).Extract()
	switch {
	case gone(err):
		return unclaimed, nil
	case err != nil:
		return unclaimed, err
	case strings.HasPrefix(network.Name, "k8s-clusterapi-cluster-") && strings.HasSuffix(network.Name, "-"+s.target.name):
		return foreign, nil
	}
	return unclaimed, nil
}

func (s *survey) addresses(ctx context.Context) error {
	client, err := s.cloud.Network()
	if err != nil {
		return err
	}
	return each(ctx, floatingips.List(client, floatingips.ListOpts{ProjectID: s.project}), floatingips.ExtractFloatingIPs, func(f floatingips.FloatingIP) error {
		if AddressOf(f.Description, s.target.name) && !s.elsewhere(f.ProjectID) {
			s.resources = append(s.resources, Resource{Kind: kindAddress, ID: f.ID, Name: f.FloatingIP, claim: s.claimAddress(f)})
		}
		return nil
	})
}

// claimAddress goes by the load balancer that a floating IP leads to, or else by its router.
func (s *survey) claimAddress(f floatingips.FloatingIP) claim {
	if of, ok := s.vips[f.PortID]; ok && f.PortID != "" {
		return of
	}
	switch {
	case s.target.routers[f.RouterID]:
		return ours
	case f.RouterID != "" && len(s.target.routers) > 0:
		return foreign
	}
	return unclaimed
}

func (s *survey) groups(ctx context.Context) error {
	client, err := s.cloud.Network()
	if err != nil {
		return err
	}
	return each(ctx, groups.List(client, groups.ListOpts{ProjectID: s.project}), groups.ExtractGroups, func(g groups.SecGroup) error {
		if !GroupOf(g.Description, s.target.name) || s.elsewhere(g.ProjectID) {
			return nil
		}
		of, err := s.claimPorts(ctx, ports.ListOpts{SecurityGroups: []string{g.ID}})
		if err != nil {
			return err // whose it is nobody knows
		}
		s.resources = append(s.resources, Resource{Kind: kindGroup, ID: g.ID, Name: g.Name, claim: of})
		return nil
	})
}

// claimPorts goes by the networks of ports: those of a security group, or of
// the server that a volume is attached to.
func (s *survey) claimPorts(ctx context.Context, o ports.ListOpts) (claim, error) {
	result := unclaimed
	if len(s.target.networks) == 0 {
		return result, nil
	}
	client, err := s.cloud.Network()
	if err != nil {
		return result, err
	}
	o.ProjectID = s.project
	err = each(ctx, ports.List(client, o), ports.ExtractPorts, func(p ports.Port) error {
		switch {
		case s.target.networks[p.NetworkID]:
			result = ours
		case result == unclaimed:
			result = foreign
		}
		return nil
	})
	return result, err
}

// gone reports whether the cloud answers that a resource does not exist.
func gone(err error) bool { return gophercloud.ResponseCodeIs(err, http.StatusNotFound) }

// later reports whether the cloud answers that a resource cannot be deleted as it is now: it is in
// use, it is changing, or others still depend on it.
func later(err error) bool {
	return slices.ContainsFunc([]int{http.StatusBadRequest, http.StatusConflict}, func(status int) bool { return gophercloud.ResponseCodeIs(err, status) })
}

// names joins the names of a few resources for users.
func names(resources []Resource) string {
	const most = 5
	var list []string
	for i, resource := range resources {
		if i == most {
			list = append(list, fmt.Sprintf("and %d more", len(resources)-most))
			break
		}
		list = append(list, resource.String())
	}
	return strings.Join(list, "; ")
}
