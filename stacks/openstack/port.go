package openstack

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// PortInputs are the inputs of a port.
type PortInputs struct {
	Ownership
	NetworkID string `pulumi:"networkID" diff:"replace"`
	// SubnetID chooses one of several subnets; if empty the cloud chooses.
	SubnetID       string   `pulumi:"subnetID,optional" diff:"replace"`
	SecurityGroups []string `pulumi:"securityGroups,optional"`
}

// PortState is the state of a port.
type PortState struct {
	PortInputs
	Address string `pulumi:"address"`
	MAC     string `pulumi:"mac"`
}

func (s PortState) inputs() PortInputs { return s.PortInputs }

// Port is a port in a program.
type Port struct {
	pulumi.CustomResourceState
	Address pulumi.StringOutput `pulumi:"address"`
	MAC     pulumi.StringOutput `pulumi:"mac"`
}

// NewPort adds a port to the program; subnet may be nil.
func NewPort(ctx *pulumi.Context, in PortInputs, network, subnet pulumi.StringInput, groups pulumi.StringArrayInput, options ...pulumi.ResourceOption) (*Port, error) {
	r := &Port{}
	refs := pulumi.Map{"networkID": network}
	if subnet != nil {
		refs["subnetID"] = subnet
	}
	if groups != nil {
		refs["securityGroups"] = groups
	}
	return r, register(ctx, "Port", in, refs, r, options)
}

type port struct {
	controller[PortInputs, PortState]
}

// Annotate names the resource's type.
func (*port) Annotate(a infer.Annotator) { a.SetToken("openstack", "Port") }

type portKind struct{ Clients }

func (portKind) word() string { return "port" }

func (k portKind) find(ctx context.Context, in PortInputs) (string, error) {
	client, err := k.Network()
	if err != nil {
		return "", err
	}
	pages, err := ports.List(client, ports.ListOpts{ProjectID: projectOf(client), Name: in.mark().Name()}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	list, err := ports.ExtractPorts(pages)
	if err != nil {
		return "", err
	}
	var candidates []candidate
	for _, p := range list {
		candidates = append(candidates, candidate{id: p.ID, name: p.Name, tags: p.Tags, description: p.Description})
	}
	return pick(k.word(), in.mark(), candidates)
}

func (k portKind) make(ctx context.Context, in PortInputs) (string, error) {
	client, err := k.Network()
	if err != nil {
		return "", err
	}
	groups := append([]string{}, in.SecurityGroups...)
	options := ports.CreateOpts{NetworkID: in.NetworkID, Name: in.mark().Name(), Description: in.mark().Description(), SecurityGroups: &groups}
	if in.SubnetID != "" {
		options.FixedIPs = []ports.IP{{SubnetID: in.SubnetID}}
	}
	p, err := ports.Create(ctx, client, options).Extract()
	if err != nil {
		return "", err
	}
	return p.ID, nil
}

func (k portKind) settle(ctx context.Context, id string, in PortInputs) (PortState, error) {
	client, p, err := k.get(ctx, id)
	if err != nil {
		return PortState{}, err
	}
	if err := tag(ctx, client, "ports", id, p.Tags, in.Ownership); err != nil {
		return PortState{}, err
	}
	if !sameSet(p.SecurityGroups, in.SecurityGroups) {
		groups := append([]string{}, in.SecurityGroups...)
		if p, err = ports.Update(ctx, client, id, ports.UpdateOpts{SecurityGroups: &groups}).Extract(); err != nil {
			return PortState{}, err
		}
	}
	return portState(in, p), nil
}

func (k portKind) read(ctx context.Context, id string, in PortInputs) (PortState, error) {
	_, p, err := k.get(ctx, id)
	if err != nil {
		return PortState{}, err
	}
	in.NetworkID = p.NetworkID
	if !sameSet(p.SecurityGroups, in.SecurityGroups) {
		in.SecurityGroups = p.SecurityGroups
	}
	return portState(in, p), nil
}

func (k portKind) remove(ctx context.Context, id string, _ PortState) error {
	client, err := k.Network()
	if err != nil {
		return err
	}
	return gone(ports.Delete(ctx, client, id).ExtractErr())
}

func (k portKind) get(ctx context.Context, id string) (*gophercloud.ServiceClient, *ports.Port, error) {
	client, err := k.Network()
	if err != nil {
		return nil, nil, err
	}
	p, err := ports.Get(ctx, client, id).Extract()
	return client, p, gone(err)
}

func portState(in PortInputs, p *ports.Port) PortState {
	state := PortState{PortInputs: in, MAC: p.MACAddress}
	for _, ip := range p.FixedIPs {
		if state.Address == "" || ip.SubnetID == in.SubnetID {
			state.Address = ip.IPAddress
		}
	}
	return state
}

// sameSet compares two lists without regard to order.
func sameSet(a, b []string) bool {
	x, y := slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(x, y)
}
