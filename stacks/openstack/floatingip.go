package openstack

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
)

// FloatingIPInputs are the inputs of a floating IP.
type FloatingIPInputs struct {
	Ownership
	// NetworkID is the external network, also called the pool.
	NetworkID string `pulumi:"networkID" diff:"replace"`
	// Address requests this address. An existing floating IP of the project is
	// borrowed: it stays when the environment is deleted (F12).
	Address string `pulumi:"address,optional" diff:"replace"`
	// PortID is the port that it is associated with.
	PortID string `pulumi:"portID,optional"`
	// Reserved leaves the association to others, such as a cluster's cloud controller
	// manager.
	Reserved bool `pulumi:"reserved,optional" diff:"replace"`
}

// FloatingIPState is the state of a floating IP.
type FloatingIPState struct {
	FloatingIPInputs
	// PublicAddress is the address.
	PublicAddress string `pulumi:"publicAddress"`
	Borrowed      bool   `pulumi:"borrowed"`
}

func (s FloatingIPState) inputs() FloatingIPInputs { return s.FloatingIPInputs }

// FloatingIP is a floating IP in a program.
type FloatingIP struct {
	pulumi.CustomResourceState
	PublicAddress pulumi.StringOutput `pulumi:"publicAddress"`
}

// NewFloatingIP adds a floating IP that is associated with a port to the program.
func NewFloatingIP(ctx *pulumi.Context, in FloatingIPInputs, port pulumi.StringInput, options ...pulumi.ResourceOption) (*FloatingIP, error) {
	r := &FloatingIP{}
	return r, register(ctx, "FloatingIP", in, pulumi.Map{"portID": port}, r, options)
}

// ReserveFloatingIP adds a floating IP that others associate.
func ReserveFloatingIP(ctx *pulumi.Context, in FloatingIPInputs, options ...pulumi.ResourceOption) (*FloatingIP, error) {
	in.Reserved = true
	r := &FloatingIP{}
	return r, register(ctx, "FloatingIP", in, nil, r, options)
}

type floatingIP struct {
	controller[FloatingIPInputs, FloatingIPState]
}

// Annotate names the resource's type.
func (*floatingIP) Annotate(a infer.Annotator) { a.SetToken("openstack", "FloatingIP") }

type floatingKind struct{ Clients }

func (floatingKind) word() string { return "floating IP" }

// find lists all: floating IPs have no name to search for.
func (k floatingKind) find(ctx context.Context, in FloatingIPInputs) (string, error) {
	client, err := k.Network()
	if err != nil {
		return "", err
	}
	pages, err := floatingips.List(client, floatingips.ListOpts{ProjectID: projectOf(client)}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	list, err := floatingips.ExtractFloatingIPs(pages)
	if err != nil {
		return "", err
	}
	for _, f := range list {
		if mark, ok := ownership.Find(f.Tags, nil, f.Description); ok && mark == in.mark() && (in.Address == "" || f.FloatingIP == in.Address) {
			return f.ID, nil
		}
	}
	for _, f := range list {
		if in.Address == "" || f.FloatingIP != in.Address {
			continue
		}
		if f.PortID != "" && f.PortID != in.PortID && !in.Reserved {
			return "", fault.Usage(in.Address, fmt.Errorf("the floating IP is already associated with port %s", f.PortID), "give another address, or disassociate it")
		}
		return f.ID, nil
	}
	return "", nil
}

func (k floatingKind) make(ctx context.Context, in FloatingIPInputs) (string, error) {
	client, err := k.Network()
	if err != nil {
		return "", err
	}
	f, err := floatingips.Create(ctx, client, floatingips.CreateOpts{Description: in.mark().Description(),
		FloatingNetworkID: in.NetworkID, FloatingIP: in.Address, PortID: in.PortID}).Extract()
	if err != nil {
		return "", err
	}
	return f.ID, nil
}

func (k floatingKind) settle(ctx context.Context, id string, in FloatingIPInputs) (FloatingIPState, error) {
	client, f, err := k.get(ctx, id)
	if err != nil {
		return FloatingIPState{}, err
	}
	borrowed := !marked(f, in.mark())
	if !borrowed {
		if err := tag(ctx, client, "floatingips", id, f.Tags, in.Ownership); err != nil {
			return FloatingIPState{}, err
		}
	}
	if f.PortID != in.PortID && !in.Reserved {
		if f, err = floatingips.Update(ctx, client, id, floatingips.UpdateOpts{PortID: &in.PortID}).Extract(); err != nil {
			return FloatingIPState{}, fmt.Errorf("associating: %w", err)
		}
	}
	return FloatingIPState{in, f.FloatingIP, borrowed}, nil
}

func marked(f *floatingips.FloatingIP, mark ownership.Owner) bool {
	found, ok := ownership.Find(f.Tags, nil, f.Description)
	return ok && found == mark
}

func (k floatingKind) read(ctx context.Context, id string, in FloatingIPInputs) (FloatingIPState, error) {
	_, f, err := k.get(ctx, id)
	if err != nil {
		return FloatingIPState{}, err
	}
	in.NetworkID = f.FloatingNetworkID
	if !in.Reserved {
		in.PortID = f.PortID
	}
	return FloatingIPState{in, f.FloatingIP, !marked(f, in.mark())}, nil
}

func (k floatingKind) remove(ctx context.Context, id string, state FloatingIPState) error {
	client, err := k.Network()
	if err != nil {
		return err
	}
	if state.Borrowed && state.Reserved {
		return nil
	}
	if state.Borrowed {
		_, err := floatingips.Update(ctx, client, id, floatingips.UpdateOpts{PortID: new(string)}).Extract()
		return gone(err)
	}
	return gone(floatingips.Delete(ctx, client, id).ExtractErr())
}

func (k floatingKind) get(ctx context.Context, id string) (*gophercloud.ServiceClient, *floatingips.FloatingIP, error) {
	client, err := k.Network()
	if err != nil {
		return nil, nil, err
	}
	f, err := floatingips.Get(ctx, client, id).Extract()
	return client, f, gone(err)
}
