package openstack

import (
	"context"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/mtu"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// NetworkInputs are the inputs of a network.
type NetworkInputs struct {
	Ownership
	// MTU in bytes; 0 means the cloud's default.
	MTU int `pulumi:"mtu,optional"`
	// AvailabilityZoneHints are sent if the cloud supports them.
	AvailabilityZoneHints []string `pulumi:"availabilityZoneHints,optional" diff:"replace"`
}

// NetworkState is the state of a network.
type NetworkState struct {
	NetworkInputs
	// NeutronMTU is the network's MTU in bytes, also if the cloud chose it; 0 if the
	// cloud does not report it.
	NeutronMTU int `pulumi:"neutronMTU"`
}

func (s NetworkState) inputs() NetworkInputs { return s.NetworkInputs }

// Network is a network in a program.
type Network struct {
	pulumi.CustomResourceState
	NeutronMTU pulumi.IntOutput `pulumi:"neutronMTU"`
}

// NewNetwork adds a network to the program.
func NewNetwork(ctx *pulumi.Context, in NetworkInputs, options ...pulumi.ResourceOption) (*Network, error) {
	r := &Network{}
	return r, register(ctx, "Network", in, nil, r, options)
}

type network struct {
	controller[NetworkInputs, NetworkState]
}

// Annotate names the resource's type.
func (*network) Annotate(a infer.Annotator) { a.SetToken("openstack", "Network") }

type networkKind struct{ Clients }

// networkView is a network as Neutron returns it.
type networkView struct {
	networks.Network
	mtu.NetworkMTUExt
}

func (networkKind) word() string { return "network" }

func (k networkKind) find(ctx context.Context, in NetworkInputs) (string, error) {
	client, err := k.Network()
	if err != nil {
		return "", err
	}
	pages, err := networks.List(client, networks.ListOpts{ProjectID: projectOf(client), Name: in.mark().Name()}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	list, err := networks.ExtractNetworks(pages)
	if err != nil {
		return "", err
	}
	var candidates []candidate
	for _, n := range list {
		candidates = append(candidates, candidate{id: n.ID, name: n.Name, tags: n.Tags, description: n.Description})
	}
	return pick(k.word(), in.mark(), candidates)
}

func (k networkKind) make(ctx context.Context, in NetworkInputs) (string, error) {
	client, err := k.Network()
	if err != nil {
		return "", err
	}
	hints, err := withoutHints(ctx, client, "network_availability_zone", in.AvailabilityZoneHints)
	if err != nil {
		return "", err
	}
	var options networks.CreateOptsBuilder = networks.CreateOpts{Name: in.mark().Name(), Description: in.mark().Description(), AvailabilityZoneHints: hints}
	if in.MTU > 0 {
		options = mtu.CreateOptsExt{CreateOptsBuilder: options, MTU: in.MTU}
	}
	n, err := networks.Create(ctx, client, options).Extract()
	if err != nil {
		return "", err
	}
	return n.ID, nil
}

func (k networkKind) settle(ctx context.Context, id string, in NetworkInputs) (NetworkState, error) {
	client, view, err := k.get(ctx, id)
	if err != nil {
		return NetworkState{}, err
	}
	if err := tag(ctx, client, "networks", id, view.Tags, in.Ownership); err != nil {
		return NetworkState{}, err
	}
	if in.MTU > 0 && view.MTU != in.MTU {
		if _, err := networks.Update(ctx, client, id, mtu.UpdateOptsExt{UpdateOptsBuilder: networks.UpdateOpts{}, MTU: in.MTU}).Extract(); err != nil {
			return NetworkState{}, err
		}
		view.MTU = in.MTU
	}
	return NetworkState{in, view.MTU}, nil
}

func (k networkKind) read(ctx context.Context, id string, in NetworkInputs) (NetworkState, error) {
	_, view, err := k.get(ctx, id)
	if err != nil {
		return NetworkState{}, err
	}
	if in.MTU > 0 {
		in.MTU = view.MTU
	}
	return NetworkState{in, view.MTU}, nil
}

func (k networkKind) remove(ctx context.Context, id string, _ NetworkState) error {
	client, err := k.Network()
	if err != nil {
		return err
	}
	return gone(networks.Delete(ctx, client, id).ExtractErr())
}

func (k networkKind) get(ctx context.Context, id string) (*gophercloud.ServiceClient, networkView, error) {
	var view networkView
	client, err := k.Network()
	if err != nil {
		return nil, view, err
	}
	err = networks.Get(ctx, client, id).ExtractInto(&view)
	return client, view, gone(err)
}
