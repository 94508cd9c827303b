package network

import (
	"encoding/json"
	"iter"
	"net/http"
	"net/netip"
	"reflect"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// subnetView is a subnet as clients see it.
type subnetView struct {
	model.Subnet
	shown
	Shared   bool `json:"shared"`
	External bool `json:"router:external"`
}

func (n *Core) subnets() resource[model.Subnet, subnetView] {
	return resource[model.Subnet, subnetView]{
		core: n, one: "subnet", many: "subnets", path: "/v2.0/subnets",
		table: n.model.Subnets, of: n.model.SubnetsOf,
		meta: func(v *model.Subnet) *model.NetworkMeta { return &v.NetworkMeta },
		missing: func(id string) error {
			return api.Errorf(http.StatusNotFound, "SubnetNotFound", "Subnet %s could not be found.", id)
		},
		shared: n.foreignSubnets,
		sees: func(r store.Reader, project string, v model.Subnet) bool {
			network, _ := n.model.Networks.Get(r, v.NetworkID)
			return network.ProjectID == project || n.isShared(r, v.NetworkID, project)
		},
		narrow: n.narrowSubnets,
		view:   n.viewSubnet, create: n.createSubnet, update: n.updateSubnet, remove: n.deleteSubnet,
	}
}

// foreignSubnets are those on the project's networks and on networks shared
// with it. Subnets of networks that are only external are not among them.
func (n *Core) foreignSubnets(r store.Reader, project string) iter.Seq[model.Subnet] {
	return func(yield func(model.Subnet) bool) {
		of := func(networks iter.Seq[model.Network]) bool {
			for network := range networks {
				for subnet := range n.model.SubnetsOfNetwork.Each(r, network.ID) {
					if !yield(subnet) {
						return false
					}
				}
			}
			return true
		}
		if of(n.model.NetworksOf.Each(r, project)) {
			of(sharedObjects(n, r, n.model.Networks, "network", project))
		}
	}
}

func (n *Core) narrowSubnets(r store.Reader, c *api.Call) (iter.Seq[model.Subnet], bool) {
	networks := c.Request.URL.Query()["network_id"]
	if len(networks) != 1 {
		return nil, false
	}
	return n.model.SubnetsOfNetwork.Each(r, networks[0]), true
}

func (n *Core) viewSubnet(r store.Reader, p *api.Principal, v model.Subnet) subnetView {
	network, _ := n.model.Networks.Get(r, v.NetworkID)
	v.Pools, v.Nameservers, v.HostRoutes, v.ServiceTypes = list(v.Pools), list(v.Nameservers), list(v.HostRoutes), list(v.ServiceTypes)
	return subnetView{Subnet: v, shown: show(v.NetworkMeta), External: network.External,
		Shared: n.isShared(r, v.NetworkID, projectOf(p, v.ProjectID))}
}

func (n *Core) subnetsOf(r store.Reader, networkID string) []model.Subnet {
	var subnets []model.Subnet
	for subnet := range n.model.SubnetsOfNetwork.Each(r, networkID) {
		subnets = append(subnets, subnet)
	}
	return subnets
}

// subnetChange is what may be said of a subnet at any time.
type subnetChange struct {
	Name         api.Optional[string]                 `json:"name"`
	Description  api.Optional[string]                 `json:"description"`
	Gateway      api.Optional[string]                 `json:"gateway_ip"`
	Pools        api.Optional[[]model.AllocationPool] `json:"allocation_pools"`
	Nameservers  api.Optional[[]string]               `json:"dns_nameservers"`
	HostRoutes   api.Optional[[]model.HostRoute]      `json:"host_routes"`
	DHCP         api.Optional[bool]                   `json:"enable_dhcp"`
	SegmentID    api.Optional[string]                 `json:"segment_id"`
	ServiceTypes api.Optional[[]string]               `json:"service_types"`
	PublishDNS   api.Optional[bool]                   `json:"dns_publish_fixed_ip"`
}

// subnetInput is a subnet to create.
type subnetInput struct {
	subnetChange
	owned
	NetworkID    api.Optional[string] `json:"network_id"`
	IPVersion    api.Optional[int]    `json:"ip_version"`
	CIDR         api.Optional[string] `json:"cidr"`
	PrefixLen    api.Optional[int]    `json:"prefixlen"`
	RAMode       api.Optional[string] `json:"ipv6_ra_mode"`
	AddressMode  api.Optional[string] `json:"ipv6_address_mode"`
	SubnetPoolID api.Optional[string] `json:"subnetpool_id"`
	DefaultPool  api.Optional[bool]   `json:"use_default_subnetpool"`
}

func (in subnetChange) apply(v *model.Subnet) error {
	in.Name.Apply(&v.Name)
	in.Description.Apply(&v.Description)
	in.DHCP.Apply(&v.DHCP)
	in.Pools.Apply(&v.Pools)
	in.Nameservers.Apply(&v.Nameservers)
	in.HostRoutes.Apply(&v.HostRoutes)
	in.ServiceTypes.Apply(&v.ServiceTypes)
	in.PublishDNS.Apply(&v.PublishDNS)
	pointer(in.SegmentID, &v.SegmentID)
	pointer(in.Gateway, &v.Gateway)
	return lengths(v.Name, v.Description)
}

func (n *Core) createSubnet(tx *store.Tx, p *api.Principal, raw json.RawMessage) (model.Subnet, error) {
	var in subnetInput
	var none model.Subnet
	if err := decodeInto(raw, &in, reflect.TypeFor[subnetView](), http.MethodPost); err != nil {
		return none, err
	}
	if err := require("network_id", in.NetworkID.Value != ""); err != nil {
		return none, err
	}
	network, err := n.networks().find(tx, p, in.NetworkID.Value)
	if err != nil {
		return none, err
	}
	if !owns(p, network.ProjectID) {
		return none, disallowed("rule:create_subnet")
	}
	if err := adminOnly(p, "create_subnet", attribute{"segment_id", in.SegmentID.Value != ""},
		attribute{"service_types", len(in.ServiceTypes.Value) > 0}); err != nil {
		return none, err
	}
	project, err := in.project(p)
	if err != nil {
		return none, err
	}
	if err := n.reserve(tx, project, "subnet"); err != nil {
		return none, err
	}
	v := model.Subnet{NetworkMeta: n.newMeta(project, in.owned), NetworkID: network.ID, DHCP: true}
	if err := n.setRange(tx, p, &v, in); err != nil {
		return none, err
	}
	if err := in.apply(&v); err != nil {
		return none, err
	}
	return v, n.addSubnet(tx, v, in.Gateway.Set)
}

// addSubnet completes, checks and keeps a new subnet.
func (n *Core) addSubnet(tx *store.Tx, v model.Subnet, gatewaySaid bool) error {
	prefix := netip.MustParsePrefix(v.CIDR)
	if !gatewaySaid {
		first := defaultGateway(prefix).String()
		v.Gateway = &first
	}
	if err := n.checkSubnet(tx, &v); err != nil {
		return err
	}
	n.model.Subnets.Put(tx, v)
	n.addressNewSubnet(tx, v)
	n.model.Networks.Change(tx, v.NetworkID, func(network *model.Network) { n.touch(&network.NetworkMeta) })
	return nil
}

func (n *Core) updateSubnet(tx *store.Tx, p *api.Principal, old model.Subnet, raw json.RawMessage) (model.Subnet, error) {
	var in subnetChange
	if err := decodeInto(raw, &in, reflect.TypeFor[subnetView](), http.MethodPut); err != nil {
		return old, err
	}
	if err := adminOnly(p, "update_subnet", attribute{"segment_id", in.SegmentID.Set},
		attribute{"service_types", in.ServiceTypes.Set}); err != nil {
		return old, err
	}
	v := old
	if err := in.apply(&v); err != nil {
		return old, err
	}
	if in.Gateway.Set && text(old.Gateway) != text(v.Gateway) {
		if err := n.gatewayFree(tx, old); err != nil {
			return old, err
		}
	}
	if !in.Pools.Set {
		v.Pools = old.Pools
	}
	return v, n.checkSubnet(tx, &v)
}

// gatewayFree refuses to change a gateway that a router holds.
func (n *Core) gatewayFree(r store.Reader, v model.Subnet) error {
	if v.Gateway == nil {
		return nil
	}
	for port := range n.model.PortsByAddress.Each(r, model.AddressKey(v.ID, *v.Gateway)) {
		if port.DeviceOwner == model.OwnerRouterInterface {
			return api.Errorf(http.StatusConflict, "GatewayIpInUse",
				"Current gateway ip %s already in use by port %s. Unable to update.", *v.Gateway, port.ID)
		}
	}
	return nil
}

// deleteSubnet refuses while ports have addresses of the subnet; addresses
// that were made of it and the MAC alone go with it.
func (n *Core) deleteSubnet(tx *store.Tx, _ *api.Principal, v model.Subnet) error {
	automatic := automaticAddress(v)
	for port := range n.model.PortsOfSubnet.Each(tx, v.ID) {
		if !automatic || port.DeviceOwner == model.OwnerRouterInterface {
			return api.Errorf(http.StatusConflict, "SubnetInUse",
				"Unable to complete operation on subnet %s: One or more ports have an IP allocation from this subnet.", v.ID)
		}
	}
	for port := range n.model.PortsOfSubnet.Each(tx, v.ID) {
		n.model.Ports.Change(tx, port.ID, func(port *model.Port) {
			port.FixedIPs = without(port.FixedIPs, v.ID)
			n.touch(&port.NetworkMeta)
		})
	}
	n.model.Networks.Change(tx, v.NetworkID, func(network *model.Network) { n.touch(&network.NetworkMeta) })
	return nil
}

// without are the addresses that are not of a subnet.
func without(ips []model.FixedIP, subnetID string) []model.FixedIP {
	kept := []model.FixedIP{}
	for _, ip := range ips {
		if ip.SubnetID != subnetID {
			kept = append(kept, ip)
		}
	}
	return kept
}
