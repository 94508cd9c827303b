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

// floatingView is a floating IP as clients see it.
type floatingView struct {
	model.FloatingIP
	shown
	PortDetails *portDetails     `json:"port_details"`
	Forwardings []forwardingView `json:"port_forwardings"`
	NetworkQoS  *string          `json:"qos_network_policy_id"`
	OwnPortID   *string          `json:"own_port_id,omitempty"`
	Pending     *string          `json:"pending,omitempty"`
}

// portDetails is what the port of a floating IP is.
type portDetails struct {
	Name         string `json:"name"`
	NetworkID    string `json:"network_id"`
	MAC          string `json:"mac_address"`
	AdminStateUp bool   `json:"admin_state_up"`
	Status       string `json:"status"`
	DeviceID     string `json:"device_id"`
	DeviceOwner  string `json:"device_owner"`
}

func (n *Core) floatingIPs() resource[model.FloatingIP, floatingView] {
	return resource[model.FloatingIP, floatingView]{
		core: n, one: "floatingip", many: "floatingips", path: "/v2.0/floatingips",
		table: n.model.FloatingIPs, of: n.model.FloatingIPsOf,
		meta: func(v *model.FloatingIP) *model.NetworkMeta { return &v.NetworkMeta },
		missing: func(id string) error {
			return api.Errorf(http.StatusNotFound, "FloatingIPNotFound", "Floating IP %s could not be found", id)
		},
		narrow: n.narrowFloating,
		view:   n.viewFloating, create: n.createFloating, update: n.updateFloating, remove: n.deleteFloating,
	}
}

func (n *Core) narrowFloating(r store.Reader, c *api.Call) (iter.Seq[model.FloatingIP], bool) {
	query := c.Request.URL.Query()
	for name, index := range map[string]*store.Index[model.FloatingIP]{
		"port_id": n.model.FloatingIPsOfPort, "floating_ip_address": n.model.FloatingIPsByAddress,
	} {
		if values := query[name]; len(values) == 1 && values[0] != "" {
			return index.Each(r, values[0]), true
		}
	}
	return nil, false
}

func (n *Core) viewFloating(r store.Reader, p *api.Principal, v model.FloatingIP) floatingView {
	view := floatingView{FloatingIP: v, shown: show(v.NetworkMeta), Forwardings: []forwardingView{}}
	if port, ok := n.model.Ports.Get(r, text(v.PortID)); ok {
		view.PortDetails = &portDetails{port.Name, port.NetworkID, port.MAC, port.AdminStateUp, port.Status, port.DeviceID, port.DeviceOwner}
	}
	if network, ok := n.model.Networks.Get(r, v.NetworkID); ok {
		view.NetworkQoS = network.QoSPolicyID
	}
	for forwarding := range n.model.ForwardingsOfFloatingIP.Each(r, v.ID) {
		view.Forwardings = append(view.Forwardings, newForwardingView(r, p, forwarding))
	}
	return view
}

type floatingChange struct {
	Description api.Optional[string] `json:"description"`
	PortID      api.Optional[string] `json:"port_id"`
	FixedIP     api.Optional[string] `json:"fixed_ip_address"`
	QoSPolicyID api.Optional[string] `json:"qos_policy_id"`
}

type floatingInput struct {
	floatingChange
	owned
	NetworkID api.Optional[string] `json:"floating_network_id"`
	IPAddress api.Optional[string] `json:"floating_ip_address"`
	SubnetID  api.Optional[string] `json:"subnet_id"`
	DNSName   api.Optional[string] `json:"dns_name"`
	DNSDomain api.Optional[string] `json:"dns_domain"`
	Status    api.Optional[string] `json:"status"`
}

func (n *Core) createFloating(tx *store.Tx, p *api.Principal, raw json.RawMessage) (model.FloatingIP, error) {
	var in floatingInput
	var none model.FloatingIP
	if err := decodeInto(raw, &in, reflect.TypeFor[floatingView](), http.MethodPost); err != nil {
		return none, err
	}
	network, err := n.floatingNetwork(tx, p, in)
	if err != nil {
		return none, err
	}
	project, err := in.project(p)
	if err != nil {
		return none, err
	}
	if err := n.reserve(tx, project, "floatingip"); err != nil {
		return none, err
	}
	v := model.FloatingIP{NetworkMeta: n.newMeta(project, in.owned), NetworkID: network.ID, Status: "DOWN",
		DNSName: in.DNSName.Or(""), DNSDomain: in.DNSDomain.Or("")}
	in.Description.Apply(&v.Description)
	pointer(in.QoSPolicyID, &v.QoSPolicyID)
	if err := errorOr(checkDNSName(v.DNSName), checkDomain(v.DNSDomain)); err != nil {
		return none, err
	}
	if err := errorOr(n.checkQoS(tx, v.QoSPolicyID), n.setAside(tx, network, &v, in)); err != nil {
		return none, err
	}
	n.model.FloatingIPs.Put(tx, v)
	return v, n.applyAssociation(tx, p, &v, in.floatingChange)
}

func (n *Core) floatingNetwork(r store.Reader, p *api.Principal, in floatingInput) (model.Network, error) {
	if err := require("floating_network_id", in.NetworkID.Value != ""); err != nil {
		return model.Network{}, err
	}
	if err := adminOnly(p, "create_floatingip", attribute{"floating_ip_address", in.IPAddress.Value != ""}); err != nil {
		return model.Network{}, err
	}
	network, err := n.networks().find(r, p, in.NetworkID.Value)
	if err != nil {
		return network, err
	}
	if !network.External {
		return network, badFloating("Network %s is not a valid external network.", network.ID)
	}
	for subnet := range n.model.SubnetsOfNetwork.Each(r, network.ID) {
		if subnet.IPVersion == 4 {
			return network, nil
		}
	}
	return network, badFloating("Network %s does not contain any IPv4 subnet.", network.ID)
}

func badFloating(format string, args ...any) error {
	return api.Errorf(http.StatusBadRequest, "BadRequest", "Bad floatingip request: "+format, args...)
}

// setAside makes the port that holds the floating IP's address. It is nobody's
// and counts for no quota.
func (n *Core) setAside(tx *store.Tx, network model.Network, v *model.FloatingIP, in floatingInput) error {
	port := n.newPort(network, "", owned{})
	port.DeviceID, port.DeviceOwner = v.ID, model.OwnerFloatingIP
	port.MAC = n.newMAC(tx)
	asked := model.FixedIP{SubnetID: in.SubnetID.Value, IPAddress: in.IPAddress.Value}
	var err error
	if asked == (model.FixedIP{}) {
		port.FixedIPs, err = n.chooseAddresses(tx, port)
	} else {
		port.FixedIPs, err = n.takeAddresses(tx, port, []model.FixedIP{asked}, nil)
	}
	if err != nil {
		return err
	}
	for _, ip := range port.FixedIPs {
		if subnet, _ := n.model.Subnets.Get(tx, ip.SubnetID); subnet.IPVersion == 4 {
			v.IPAddress, v.OwnPortID = ip.IPAddress, port.ID
			port.FixedIPs, port.PortSecurity = []model.FixedIP{ip}, false
			n.settle(&port)
			n.model.Ports.Put(tx, port)
			return nil
		}
	}
	return conflict("ExternalIpAddressExhausted", "Unable to find any IP address on external network %s.", network.ID)
}

func (n *Core) updateFloating(tx *store.Tx, p *api.Principal, old model.FloatingIP, raw json.RawMessage) (model.FloatingIP, error) {
	var in floatingChange
	if err := decodeInto(raw, &in, reflect.TypeFor[floatingView](), http.MethodPut); err != nil {
		return old, err
	}
	v := old
	in.Description.Apply(&v.Description)
	pointer(in.QoSPolicyID, &v.QoSPolicyID)
	if err := errorOr(lengths("", v.Description), n.checkQoS(tx, v.QoSPolicyID)); err != nil {
		return old, err
	}
	return v, n.applyAssociation(tx, p, &v, in)
}

// applyAssociation does what a request says of the port. A fixed address
// alone is another one of the same port.
func (n *Core) applyAssociation(tx *store.Tx, p *api.Principal, v *model.FloatingIP, in floatingChange) error {
	portID := text(v.PortID)
	if in.PortID.Set {
		portID = in.PortID.Value
	}
	switch {
	case !in.PortID.Set && !in.FixedIP.Set && (in.Description.Set || in.QoSPolicyID.Set):
		return nil
	case !in.PortID.Set && !in.FixedIP.Set:
		// "Set the port_id attribute to null or omit it from the request body":
		// an update that says nothing takes the port away. CAPO relies on it.
		n.disassociate(tx, v)
	case portID == "" && in.FixedIP.Value != "":
		return badFloating("fixed_ip_address cannot be specified without a port_id")
	case portID == "":
		n.disassociate(tx, v)
	default:
		if err := n.associate(tx, p, v, portID, in.FixedIP.Value); err != nil {
			return err
		}
	}
	n.model.FloatingIPs.Put(tx, *v)
	return nil
}

func (n *Core) deleteFloating(tx *store.Tx, _ *api.Principal, v model.FloatingIP) error {
	for range n.model.ForwardingsOfFloatingIP.Each(tx, v.ID) {
		return forwarded(v)
	}
	n.disassociate(tx, &v)
	n.model.Ports.Delete(tx, v.OwnPortID)
	return nil
}

func forwarded(v model.FloatingIP) error {
	return conflict("FipInUseByPortForwarding", "Floating IP %s in use by Port Forwarding resources.", v.ID)
}
