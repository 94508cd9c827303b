package openstack

import (
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/slipway-sh/slipway/addons/janitor"
)

// StepServices is the step of the resources of Services of type LoadBalancer. The cloud
// controller manager of the management cluster creates them, with names but without
// ownership tags.
const StepServices = "services"

// exposed are the lists that contain resources of Services.
type exposed struct {
	balancers []loadbalancers.LoadBalancer
	addresses []floatingips.FloatingIP
	groups    []groups.SecGroup
	ports     []ports.Port
}

// of returns the resources of Services on the environment's cluster. The cluster's name in
// their names is not enough: the project may have another cluster with the name. Resources
// on a network that the environment created belong to the environment (rows S-73, S-74).
func (s *exposed) of(environment string, marked []Resource) []Resource {
	networks := map[string]bool{}
	for _, thing := range marked {
		if thing.Type == TypeNetwork {
			networks[thing.ID] = true
		}
	}
	if len(networks) == 0 {
		return nil
	}
	var things []Resource
	add := func(kind, id, name, state string) {
		if !slices.ContainsFunc(marked, func(t Resource) bool { return t.Type == kind && t.ID == id }) {
			things = append(things, Resource{Type: kind, ID: id, Name: name, Step: StepServices, State: state})
		}
	}
	doors := map[string]bool{} // ports of the load balancers
	for _, b := range s.balancers {
		if janitor.BalancerOf(b.Name, environment) && networks[b.VipNetworkID] && b.ProvisioningStatus != "DELETED" {
			doors[b.VipPortID] = true
			add(TypeLoadBalancer, b.ID, b.Name, b.ProvisioningStatus)
		}
	}
	for _, f := range s.addresses {
		if janitor.AddressOf(f.Description, environment) && f.PortID != "" && doors[f.PortID] {
			add(TypeFloatingIP, f.ID, f.FloatingIP, f.Status)
		}
	}
	guarding := map[string]bool{} // security groups of ports on the networks
	for _, p := range s.ports {
		for _, id := range p.SecurityGroups {
			guarding[id] = guarding[id] || networks[p.NetworkID]
		}
	}
	for _, g := range s.groups {
		if janitor.GroupOf(g.Description, environment) && guarding[g.ID] {
			add(TypeSecurityGroup, g.ID, g.Name, "present")
		}
	}
	return things
}
