package openstack

import (
	"context"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// RouterInterfaceInputs are the inputs of a router's interface.
type RouterInterfaceInputs struct {
	Ownership
	RouterID string `pulumi:"routerID" diff:"replace"`
	SubnetID string `pulumi:"subnetID" diff:"replace"`
}

// RouterInterfaceState is the state of a router's interface.
type RouterInterfaceState struct {
	RouterInterfaceInputs
	PortID string `pulumi:"portID"`
}

func (s RouterInterfaceState) inputs() RouterInterfaceInputs { return s.RouterInterfaceInputs }

// RouterInterface is a router's interface in a program.
type RouterInterface struct{ pulumi.CustomResourceState }

// NewRouterInterface connects a subnet to a router in the program.
func NewRouterInterface(ctx *pulumi.Context, in RouterInterfaceInputs, router, subnet pulumi.StringInput, options ...pulumi.ResourceOption) (*RouterInterface, error) {
	r := &RouterInterface{}
	return r, register(ctx, "RouterInterface", in, pulumi.Map{"routerID": router, "subnetID": subnet}, r, options)
}

type routerInterface struct {
	controller[RouterInterfaceInputs, RouterInterfaceState]
}

// Annotate names the resource's type.
func (*routerInterface) Annotate(a infer.Annotator) { a.SetToken("openstack", "RouterInterface") }

// interfaceKind has no ownership tag: an interface is identified by its router and its
// subnet, and its ID consists of both.
type interfaceKind struct{ Clients }

func (interfaceKind) word() string { return "router interface" }

func (k interfaceKind) find(ctx context.Context, in RouterInterfaceInputs) (string, error) {
	_, port, err := k.port(ctx, in.RouterID, in.SubnetID)
	if err != nil || port == "" {
		return "", err
	}
	return in.RouterID + "/" + in.SubnetID, nil
}

func (k interfaceKind) make(ctx context.Context, in RouterInterfaceInputs) (string, error) {
	client, err := k.Network()
	if err != nil {
		return "", err
	}
	_, err = routers.AddInterface(ctx, client, in.RouterID, routers.AddInterfaceOpts{SubnetID: in.SubnetID}).Extract()
	if err != nil {
		return "", err
	}
	return in.RouterID + "/" + in.SubnetID, nil
}

func (k interfaceKind) settle(ctx context.Context, id string, in RouterInterfaceInputs) (RouterInterfaceState, error) {
	return k.read(ctx, id, in)
}

func (k interfaceKind) read(ctx context.Context, id string, in RouterInterfaceInputs) (RouterInterfaceState, error) {
	in.RouterID, in.SubnetID, _ = strings.Cut(id, "/")
	_, port, err := k.port(ctx, in.RouterID, in.SubnetID)
	if err == nil && port == "" {
		err = errGone
	}
	return RouterInterfaceState{in, port}, err
}

func (k interfaceKind) remove(ctx context.Context, id string, _ RouterInterfaceState) error {
	routerID, subnetID, _ := strings.Cut(id, "/")
	client, port, err := k.port(ctx, routerID, subnetID)
	if err != nil || port == "" {
		return err
	}
	_, err = routers.RemoveInterface(ctx, client, routerID, routers.RemoveInterfaceOpts{SubnetID: subnetID}).Extract()
	return gone(err)
}

// port returns the router's port in the subnet, "" if it has none.
func (k interfaceKind) port(ctx context.Context, routerID, subnetID string) (*gophercloud.ServiceClient, string, error) {
	client, err := k.Network()
	if err != nil {
		return nil, "", err
	}
	pages, err := ports.List(client, ports.ListOpts{DeviceID: routerID, FixedIPs: []ports.FixedIPOpts{{SubnetID: subnetID}}}).AllPages(ctx)
	if err != nil {
		return nil, "", err
	}
	list, err := ports.ExtractPorts(pages)
	if err != nil {
		return nil, "", err
	}
	for _, port := range list {
		for _, ip := range port.FixedIPs {
			if ip.SubnetID == subnetID && strings.HasPrefix(port.DeviceOwner, "network:") {
				return client, port.ID, nil
			}
		}
	}
	return client, "", nil
}
