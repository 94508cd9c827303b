package stacks

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/stacks/openstack"
)

// networkRefs are the network that the seed and the machines are in.
type networkRefs struct {
	id, subnet pulumi.StringInput
	// mtu is in bytes; 0 if it is not known.
	mtu pulumi.IntInput
	// outside is what others see machines as that have no floating IP; empty if it is not known.
	outside pulumi.StringInput
	// routed must be there before a floating IP can lead into the subnet.
	routed []pulumi.Resource
}

// network makes network, subnet and router, or takes those that are given.
func (e Environment) network(ctx *pulumi.Context) (networkRefs, error) {
	conf := e.Config.Spec.Seed.Network
	if !e.Config.Spec.Seed.MakesNetwork() {
		refs := networkRefs{id: pulumi.String(e.Choices.NetworkID), mtu: pulumi.Int(e.Choices.NetworkMTU), outside: pulumi.String("")}
		if e.Choices.SubnetID != "" {
			refs.subnet = pulumi.String(e.Choices.SubnetID)
		}
		return refs, nil
	}
	network, err := openstack.NewNetwork(ctx, openstack.NetworkInputs{Ownership: e.ownership(StepNetwork), MTU: conf.MTU,
		AvailabilityZoneHints: e.Choices.AvailabilityZoneHints})
	if err != nil {
		return networkRefs{}, err
	}
	subnet, err := openstack.NewSubnet(ctx, subnetInputs(e.ownership(StepSubnet), conf), network.ID())
	if err != nil {
		return networkRefs{}, err
	}
	router, err := openstack.NewRouter(ctx, openstack.RouterInputs{Ownership: e.ownership(StepRouter),
		ExternalNetworkID: e.Choices.ExternalNetworkID, AvailabilityZoneHints: e.Choices.AvailabilityZoneHints})
	if err != nil {
		return networkRefs{}, err
	}
	routerInterface, err := openstack.NewRouterInterface(ctx, openstack.RouterInterfaceInputs{Ownership: e.ownership(StepRouterInterface)}, router.ID(), subnet.ID())
	if err != nil {
		return networkRefs{}, err
	}
	return networkRefs{network.ID(), subnet.ID(), network.NeutronMTU, router.ExternalAddress, []pulumi.Resource{routerInterface}}, nil
}

func subnetInputs(ownership openstack.Ownership, conf config.Network) openstack.SubnetInputs {
	in := openstack.SubnetInputs{Ownership: ownership, CIDR: conf.CIDR.String()}
	if conf.GatewayIP.IsValid() {
		in.Gateway = conf.GatewayIP.String()
	}
	for _, server := range conf.DNSNameservers {
		in.DNS = append(in.DNS, server.String())
	}
	for _, pool := range conf.AllocationPools {
		in.Pools = append(in.Pools, openstack.Pool{Start: pool.Start.String(), End: pool.End.String()})
	}
	return in
}
