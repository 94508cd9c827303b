package openstack

import (
	"cmp"
	"context"
	"net/netip"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// RouterInputs are the inputs of a router.
type RouterInputs struct {
	Ownership
	// ExternalNetworkID is the network of the gateway.
	ExternalNetworkID     string   `pulumi:"externalNetworkID"`
	AvailabilityZoneHints []string `pulumi:"availabilityZoneHints,optional" diff:"replace"`
}

// RouterState is the state of a router.
type RouterState struct {
	RouterInputs
	// ExternalAddress is the source address of the environment's outgoing traffic.
	ExternalAddress string `pulumi:"externalAddress"`
}

func (s RouterState) inputs() RouterInputs { return s.RouterInputs }

// Router is a router in a program.
type Router struct {
	pulumi.CustomResourceState
	// ExternalAddress is RouterState.ExternalAddress.
	ExternalAddress pulumi.StringOutput `pulumi:"externalAddress"`
}

// NewRouter adds a router to the program.
func NewRouter(ctx *pulumi.Context, in RouterInputs, options ...pulumi.ResourceOption) (*Router, error) {
	r := &Router{}
	return r, register(ctx, "Router", in, nil, r, options)
}

type router struct {
	controller[RouterInputs, RouterState]
}

// Annotate names the resource's type.
func (*router) Annotate(a infer.Annotator) { a.SetToken("openstack", "Router") }

type routerKind struct{ Clients }

func (routerKind) word() string { return "router" }

func (k routerKind) find(ctx context.Context, in RouterInputs) (string, error) {
	client, err := k.Network()
	if err != nil {
		return "", err
	}
	pages, err := routers.List(client, routers.ListOpts{ProjectID: projectOf(client), Name: in.mark().Name()}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	list, err := routers.ExtractRouters(pages)
	if err != nil {
		return "", err
	}
	var candidates []candidate
	for _, r := range list {
		candidates = append(candidates, candidate{id: r.ID, name: r.Name, tags: r.Tags, description: r.Description})
	}
	return pick(k.word(), in.mark(), candidates)
}

func (k routerKind) make(ctx context.Context, in RouterInputs) (string, error) {
	client, err := k.Network()
	if err != nil {
		return "", err
	}
	hints, err := withoutHints(ctx, client, "router_availability_zone", in.AvailabilityZoneHints)
	if err != nil {
		return "", err
	}
	r, err := routers.Create(ctx, client, routers.CreateOpts{Name: in.mark().Name(), Description: in.mark().Description(),
		GatewayInfo: &routers.GatewayInfo{NetworkID: in.ExternalNetworkID}, AvailabilityZoneHints: hints}).Extract()
	if err != nil {
		return "", err
	}
	return r.ID, nil
}

func (k routerKind) settle(ctx context.Context, id string, in RouterInputs) (RouterState, error) {
	client, r, err := k.get(ctx, id)
	if err != nil {
		return RouterState{}, err
	}
	if err := tag(ctx, client, "routers", id, r.Tags, in.Ownership); err != nil {
		return RouterState{}, err
	}
	if r.GatewayInfo.NetworkID != in.ExternalNetworkID {
		r, err = routers.Update(ctx, client, id, routers.UpdateOpts{GatewayInfo: &routers.GatewayInfo{NetworkID: in.ExternalNetworkID}}).Extract()
		if err != nil {
			return RouterState{}, err
		}
	}
	return RouterState{in, externalAddress(r)}, nil
}

func (k routerKind) read(ctx context.Context, id string, in RouterInputs) (RouterState, error) {
	_, r, err := k.get(ctx, id)
	if err != nil {
		return RouterState{}, err
	}
	in.ExternalNetworkID = r.GatewayInfo.NetworkID
	return RouterState{in, externalAddress(r)}, nil
}

func (k routerKind) remove(ctx context.Context, id string, _ RouterState) error {
	client, err := k.Network()
	if err != nil {
		return err
	}
	return gone(routers.Delete(ctx, client, id).ExtractErr())
}

func (k routerKind) get(ctx context.Context, id string) (*gophercloud.ServiceClient, *routers.Router, error) {
	client, err := k.Network()
	if err != nil {
		return nil, nil, err
	}
	r, err := routers.Get(ctx, client, id).Extract()
	return client, r, gone(err)
}

// externalAddress is the router's IPv4 address outside, or else its first.
func externalAddress(r *routers.Router) (address string) {
	for _, ip := range r.GatewayInfo.ExternalFixedIPs {
		if parsed, err := netip.ParseAddr(ip.IPAddress); err == nil && parsed.Is4() {
			return ip.IPAddress
		}
		address = cmp.Or(address, ip.IPAddress)
	}
	return address
}
