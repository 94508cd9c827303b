package openstack

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// SubnetInputs are the inputs of a subnet.
type SubnetInputs struct {
	Ownership
	NetworkID string `pulumi:"networkID" diff:"replace"`
	CIDR      string `pulumi:"cidr" diff:"replace"`
	// DNS are the addresses of DNS servers, in order.
	DNS []string `pulumi:"dns,optional"`
	// Gateway is the router's address; if empty the cloud chooses.
	Gateway string `pulumi:"gatewayIP,optional" diff:"replace"`
	// Pools are the allocation pools; none means the whole subnet.
	Pools []Pool `pulumi:"pools,optional"`
}

// Pool is a range of addresses, both ends included.
type Pool struct {
	Start string `pulumi:"start"`
	End   string `pulumi:"end"`
}

// SubnetState is the state of a subnet.
type SubnetState struct {
	SubnetInputs
	// Router is the address of the gateway.
	Router string `pulumi:"router"`
}

func (s SubnetState) inputs() SubnetInputs { return s.SubnetInputs }

// Subnet is a subnet in a program.
type Subnet struct{ pulumi.CustomResourceState }

// NewSubnet adds a subnet of a network to the program.
func NewSubnet(ctx *pulumi.Context, in SubnetInputs, network pulumi.StringInput, options ...pulumi.ResourceOption) (*Subnet, error) {
	r := &Subnet{}
	return r, register(ctx, "Subnet", in, pulumi.Map{"networkID": network}, r, options)
}

type subnet struct {
	controller[SubnetInputs, SubnetState]
}

// Annotate names the resource's type.
func (*subnet) Annotate(a infer.Annotator) { a.SetToken("openstack", "Subnet") }

type subnetKind struct{ Clients }

func (subnetKind) word() string { return "subnet" }

func (k subnetKind) find(ctx context.Context, in SubnetInputs) (string, error) {
	client, err := k.Network()
	if err != nil {
		return "", err
	}
	pages, err := subnets.List(client, subnets.ListOpts{ProjectID: projectOf(client), Name: in.mark().Name()}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	list, err := subnets.ExtractSubnets(pages)
	if err != nil {
		return "", err
	}
	var candidates []candidate
	for _, s := range list {
		candidates = append(candidates, candidate{id: s.ID, name: s.Name, tags: s.Tags, description: s.Description})
	}
	return pick(k.word(), in.mark(), candidates)
}

func (in SubnetInputs) pools() []subnets.AllocationPool {
	var pools []subnets.AllocationPool
	for _, pool := range in.Pools {
		pools = append(pools, subnets.AllocationPool{Start: pool.Start, End: pool.End})
	}
	return pools
}

func (k subnetKind) make(ctx context.Context, in SubnetInputs) (string, error) {
	client, err := k.Network()
	if err != nil {
		return "", err
	}
	version := gophercloud.IPv4
	if slices.Contains([]byte(in.CIDR), ':') {
		version = gophercloud.IPv6
	}
	var gateway *string
	if in.Gateway != "" {
		gateway = &in.Gateway
	}
	s, err := subnets.Create(ctx, client, subnets.CreateOpts{
		GatewayIP: gateway,
		Name:      in.mark().Name(), Description: in.mark().Description(), NetworkID: in.NetworkID,
		CIDR: in.CIDR, IPVersion: version, DNSNameservers: in.DNS, AllocationPools: in.pools(),
	}).Extract()
	if err != nil {
		return "", err
	}
	return s.ID, nil
}

func (k subnetKind) settle(ctx context.Context, id string, in SubnetInputs) (SubnetState, error) {
	client, s, err := k.get(ctx, id)
	if err != nil {
		return SubnetState{}, err
	}
	if err := tag(ctx, client, "subnets", id, s.Tags, in.Ownership); err != nil {
		return SubnetState{}, err
	}
	var change subnets.UpdateOpts
	differs := false
	if !slices.Equal(in.DNS, s.DNSNameservers) {
		servers := append([]string{}, in.DNS...)
		change.DNSNameservers, differs = &servers, true
	}
	if pools := in.pools(); pools != nil && !slices.Equal(pools, s.AllocationPools) {
		change.AllocationPools, differs = pools, true
	}
	if differs {
		if s, err = subnets.Update(ctx, client, id, change).Extract(); err != nil {
			return SubnetState{}, err
		}
	}
	return SubnetState{in, s.GatewayIP}, nil
}

func (k subnetKind) read(ctx context.Context, id string, in SubnetInputs) (SubnetState, error) {
	_, s, err := k.get(ctx, id)
	if err != nil {
		return SubnetState{}, err
	}
	in.NetworkID, in.CIDR = s.NetworkID, s.CIDR
	if !slices.Equal(in.DNS, s.DNSNameservers) {
		in.DNS = s.DNSNameservers
	}
	if pools := in.pools(); pools != nil && !slices.Equal(pools, s.AllocationPools) {
		in.Pools = nil
		for _, pool := range s.AllocationPools {
			in.Pools = append(in.Pools, Pool{pool.Start, pool.End})
		}
	}
	return SubnetState{in, s.GatewayIP}, nil
}

func (k subnetKind) remove(ctx context.Context, id string, _ SubnetState) error {
	client, err := k.Network()
	if err != nil {
		return err
	}
	return gone(subnets.Delete(ctx, client, id).ExtractErr())
}

func (k subnetKind) get(ctx context.Context, id string) (*gophercloud.ServiceClient, *subnets.Subnet, error) {
	client, err := k.Network()
	if err != nil {
		return nil, nil, err
	}
	s, err := subnets.Get(ctx, client, id).Extract()
	return client, s, gone(err)
}
