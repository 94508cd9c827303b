package network

import (
	"encoding/json"
	"iter"
	"net/http"
	"reflect"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// networkView is a network as clients see it; the provider's attributes are
// for administrators.
type networkView struct {
	model.Network
	shown
	Shared       bool                     `json:"shared"`
	Subnets      []string                 `json:"subnets"`
	Zones        []string                 `json:"availability_zones"`
	L2Adjacency  bool                     `json:"l2_adjacency"`
	IPv4Scope    *string                  `json:"ipv4_address_scope"`
	IPv6Scope    *string                  `json:"ipv6_address_scope"`
	ProviderType *string                  `json:"provider:network_type,omitempty"`
	Physical     *any                     `json:"provider:physical_network,omitempty"`
	Segmentation *any                     `json:"provider:segmentation_id,omitempty"`
	Segments     *[]model.ProviderSegment `json:"segments,omitempty"`
	VLAN         *bool                    `json:"vlan_transparent"`
}

// nullable shows a nil as null: a nil pointer to it is not shown at all.
func nullable[T any](value *T) *any {
	var shown any
	if value != nil {
		shown = *value
	}
	return &shown
}

func (n *Core) networks() resource[model.Network, networkView] {
	return resource[model.Network, networkView]{
		core: n, one: "network", many: "networks", path: "/v2.0/networks",
		table: n.model.Networks, of: n.model.NetworksOf,
		meta:    func(v *model.Network) *model.NetworkMeta { return &v.NetworkMeta },
		missing: networkNotFound,
		shared: func(r store.Reader, project string) iter.Seq[model.Network] {
			return sharedObjects(n, r, n.model.Networks, "network", project)
		},
		sees: func(r store.Reader, project string, v model.Network) bool {
			return n.allows(r, v.ID, project, accessShared, accessExternal)
		},
		view: n.viewNetwork, create: n.createNetwork, update: n.updateNetwork, remove: n.deleteNetwork,
	}
}

func networkNotFound(id string) error {
	return api.Errorf(http.StatusNotFound, "NetworkNotFound", "Network %s could not be found.", id)
}

func (n *Core) viewNetwork(r store.Reader, p *api.Principal, v model.Network) networkView {
	view := networkView{Network: v, shown: show(v.NetworkMeta), Subnets: []string{}, Zones: []string{zone}, L2Adjacency: true}
	view.Shared = n.isShared(r, v.ID, projectOf(p, v.ProjectID))
	for subnet := range n.model.SubnetsOfNetwork.Each(r, v.ID) {
		view.Subnets = append(view.Subnets, subnet.ID)
		if scope := n.scopeOf(r, subnet); scope != nil && subnet.IPVersion == 4 {
			view.IPv4Scope = scope
		} else if scope != nil {
			view.IPv6Scope = scope
		}
	}
	if !isAdmin(p) {
		return view
	}
	if len(v.Segments) > 0 {
		view.Segments = &v.Segments
		return view
	}
	view.ProviderType = &v.ProviderType
	view.Physical, view.Segmentation = nullable(v.Physical), nullable(v.Segmentation)
	return view
}

// projectOf is the caller's project, or another when the cloud itself asks.
func projectOf(p *api.Principal, otherwise string) string {
	if p == nil {
		return otherwise
	}
	return p.ProjectID
}

// networkChange is what may be said of a network at any time.
type networkChange struct {
	Name         api.Optional[string] `json:"name"`
	Description  api.Optional[string] `json:"description"`
	AdminStateUp api.Optional[bool]   `json:"admin_state_up"`
	Shared       api.Optional[bool]   `json:"shared"`
	External     api.Optional[bool]   `json:"router:external"`
	IsDefault    api.Optional[bool]   `json:"is_default"`
	MTU          api.Optional[int]    `json:"mtu"`
	PortSecurity api.Optional[bool]   `json:"port_security_enabled"`
	DNSDomain    api.Optional[string] `json:"dns_domain"`
	QoSPolicyID  api.Optional[string] `json:"qos_policy_id"`

	ProviderType api.Optional[string] `json:"provider:network_type"`
	Physical     api.Optional[string] `json:"provider:physical_network"`
	Segmentation api.Optional[int]    `json:"provider:segmentation_id"`
}

// networkInput is a network to create.
type networkInput struct {
	networkChange
	owned
	ZoneHints api.Optional[[]string]                `json:"availability_zone_hints"`
	Segments  api.Optional[[]model.ProviderSegment] `json:"segments"`
	VLAN      api.Optional[bool]                    `json:"vlan_transparent"`
}

func (in networkChange) policy(p *api.Principal, action string) error {
	return adminOnly(p, action,
		attribute{"shared", in.Shared.Value}, attribute{"router:external", in.External.Value},
		attribute{"is_default", in.IsDefault.Value},
		attribute{"provider:network_type", in.ProviderType.Set},
		attribute{"provider:physical_network", in.Physical.Set},
		attribute{"provider:segmentation_id", in.Segmentation.Set})
}

// apply checks what was said and puts it in the record.
func (in networkChange) apply(v *model.Network) error {
	in.Name.Apply(&v.Name)
	in.Description.Apply(&v.Description)
	in.AdminStateUp.Apply(&v.AdminStateUp)
	in.External.Apply(&v.External)
	in.IsDefault.Apply(&v.IsDefault)
	in.PortSecurity.Apply(&v.PortSecurity)
	in.DNSDomain.Apply(&v.DNSDomain)
	pointer(in.QoSPolicyID, &v.QoSPolicyID)
	if in.MTU.Set && in.MTU.Value != 0 {
		if err := between("mtu", in.MTU.Value, 68, 65535); err != nil {
			return err
		}
		if in.MTU.Value > maxMTU(v.ProviderType) {
			return invalid("Requested MTU is too big, maximum is %d", maxMTU(v.ProviderType))
		}
		v.MTU = in.MTU.Value
	}
	if err := checkDomain(v.DNSDomain); err != nil {
		return err
	}
	return lengths(v.Name, v.Description)
}

func (n *Core) createNetwork(tx *store.Tx, p *api.Principal, raw json.RawMessage) (model.Network, error) {
	var in networkInput
	var none model.Network
	if err := decodeInto(raw, &in, reflect.TypeFor[networkView](), http.MethodPost); err != nil {
		return none, err
	}
	if err := in.policy(p, "create_network"); err != nil {
		return none, err
	}
	if err := adminOnly(p, "create_network", attribute{"segments", in.Segments.Set}); err != nil {
		return none, err
	}
	if err := n.checkZones(in.ZoneHints.Value, "network"); err != nil {
		return none, err
	}
	project, err := in.project(p)
	if err != nil {
		return none, err
	}
	if err := n.reserve(tx, project, "network"); err != nil {
		return none, err
	}
	v := model.Network{NetworkMeta: n.newMeta(project, in.owned), AdminStateUp: true, Status: "ACTIVE",
		PortSecurity: true, ZoneHints: list(in.ZoneHints.Value)}
	if err := n.setProvider(tx, &v, in); err != nil {
		return none, err
	}
	if err := in.apply(&v); err != nil {
		return none, err
	}
	return v, n.addNetwork(tx, v, in.Shared.Value)
}

// addNetwork keeps a new network with what belongs to it.
func (n *Core) addNetwork(tx *store.Tx, v model.Network, shared bool) error {
	if err := n.checkQoS(tx, v.QoSPolicyID); err != nil {
		return err
	}
	if v.ProjectID != "" {
		n.defaultGroup(tx, v.ProjectID)
	}
	n.model.Networks.Put(tx, v)
	n.addSegments(tx, v)
	n.share(tx, "network", v.ID, v.ProjectID, accessShared, shared)
	n.share(tx, "network", v.ID, v.ProjectID, accessExternal, v.External)
	return nil
}

func (n *Core) updateNetwork(tx *store.Tx, p *api.Principal, old model.Network, raw json.RawMessage) (model.Network, error) {
	var in networkChange
	if err := decodeInto(raw, &in, reflect.TypeFor[networkView](), http.MethodPut); err != nil {
		return old, err
	}
	if err := in.policy(p, "update_network"); err != nil {
		return old, err
	}
	if in.ProviderType.Set || in.Physical.Set || in.Segmentation.Set {
		return old, invalid("Plugin does not support updating the following provider network attributes: network_type, physical_network, segmentation_id")
	}
	v := old
	if err := in.apply(&v); err != nil {
		return old, err
	}
	if err := n.checkQoS(tx, v.QoSPolicyID); err != nil {
		return old, err
	}
	if old.External && !v.External && n.hasOwner(tx, v.ID, model.OwnerRouterGateway, model.OwnerFloatingIP) {
		return old, api.Errorf(http.StatusConflict, "ExternalNetworkInUse",
			"External network %s cannot be updated to be made non-external, since it has existing gateway ports.", v.ID)
	}
	if in.Shared.Set && !in.Shared.Value && n.usedByOthers(tx, v) {
		return old, api.Errorf(http.StatusConflict, "InvalidSharedSetting",
			"Unable to reconfigure sharing settings for network %s. Multiple projects are using it.", v.Name)
	}
	if in.Shared.Set {
		n.share(tx, "network", v.ID, v.ProjectID, accessShared, in.Shared.Value)
	}
	if in.External.Set {
		n.share(tx, "network", v.ID, v.ProjectID, accessExternal, v.External)
	}
	return v, nil
}

// usedByOthers reports whether ports of other projects are on the network.
func (n *Core) usedByOthers(r store.Reader, v model.Network) bool {
	for port := range n.model.PortsOfNetwork.Each(r, v.ID) {
		if port.ProjectID != "" && port.ProjectID != v.ProjectID {
			return true
		}
	}
	return false
}

func (n *Core) hasOwner(r store.Reader, networkID string, owners ...string) bool {
	for port := range n.model.PortsOfNetwork.Each(r, networkID) {
		for _, owner := range owners {
			if port.DeviceOwner == owner {
				return true
			}
		}
	}
	return false
}

// deleteNetwork also deletes the network's subnets.
func (n *Core) deleteNetwork(tx *store.Tx, _ *api.Principal, v model.Network) error {
	for port := range n.model.PortsOfNetwork.Each(tx, v.ID) {
		return api.Errorf(http.StatusConflict, "NetworkInUse",
			"Unable to complete operation on network %s. There are one or more ports still in use on the network, id for these ports is: %s.", v.ID, port.ID)
	}
	for subnet := range n.model.SubnetsOfNetwork.Each(tx, v.ID) {
		n.model.Subnets.Delete(tx, subnet.ID)
	}
	for segment := range n.model.SegmentsOfNetwork.Each(tx, v.ID) {
		n.model.Segments.Delete(tx, segment.ID)
	}
	return nil
}
