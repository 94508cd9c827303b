package network

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// forwardingView is a port forwarding as clients see it; a range of one port
// is also told as that port.
type forwardingView struct {
	model.PortForwarding
	shown
	FloatingIPID string `json:"floatingip_id,omitempty"`
	RouterID     string `json:"router_id,omitempty"`
	InternalPort *int   `json:"internal_port"`
	ExternalPort *int   `json:"external_port"`
}

func newForwardingView(_ store.Reader, _ *api.Principal, v model.PortForwarding) forwardingView {
	return forwardingView{PortForwarding: v, shown: show(v.NetworkMeta),
		InternalPort: single(v.InternalRange), ExternalPort: single(v.ExternalRange)}
}

func single(text string) *int {
	low, high, err := parseRange(text)
	if err != nil || low != high {
		return nil
	}
	return &low
}

// parseRange reads "80:90" or "80".
func parseRange(text string) (low, high int, err error) {
	first, last, ok := strings.Cut(text, ":")
	if !ok {
		last = first
	}
	low, errLow := strconv.Atoi(first)
	high, errHigh := strconv.Atoi(last)
	if errLow != nil || errHigh != nil || low < 1 || high > 65535 || low > high {
		return 0, 0, api.BadRequest("Invalid input for port range. Reason: '%s' is not a valid range of ports.", text)
	}
	return low, high, nil
}

func (n *Core) forwardings() resource[model.PortForwarding, forwardingView] {
	return resource[model.PortForwarding, forwardingView]{
		core: n, one: "port_forwarding", many: "port_forwardings", path: "/v2.0/floatingips/{floatingip}/port_forwardings",
		table: n.model.Forwardings,
		meta:  func(v *model.PortForwarding) *model.NetworkMeta { return &v.NetworkMeta },
		missing: func(id string) error {
			return api.Errorf(http.StatusNotFound, "PortForwardingNotFound", "Port Forwarding %s could not be found.", id)
		},
		narrow: func(r store.Reader, c *api.Call) (iter.Seq[model.PortForwarding], bool) {
			return n.model.ForwardingsOfFloatingIP.Each(r, c.Path("floatingip")), true
		},
		view: newForwardingView, update: n.updateForwarding, noTags: true,
		remove: func(tx *store.Tx, _ *api.Principal, v model.PortForwarding) error {
			n.forwardingRouter(tx, v.FloatingIPID, v.ID)
			return nil
		},
	}
}

func (n *Core) forwardingRoutes() []api.Route {
	return append(n.forwardings().routes(),
		api.Route{Pattern: "POST " + n.forwardings().path, Role: api.Member, Handle: n.createForwarding})
}

type forwardingInput struct {
	Description    api.Optional[string] `json:"description"`
	Protocol       api.Optional[string] `json:"protocol"`
	InternalPortID api.Optional[string] `json:"internal_port_id"`
	InternalIP     api.Optional[string] `json:"internal_ip_address"`
	InternalPort   api.Optional[int]    `json:"internal_port"`
	ExternalPort   api.Optional[int]    `json:"external_port"`
	InternalRange  api.Optional[string] `json:"internal_port_range"`
	ExternalRange  api.Optional[string] `json:"external_port_range"`
}

func (in forwardingInput) apply(v *model.PortForwarding) error {
	in.Description.Apply(&v.Description)
	in.Protocol.Apply(&v.Protocol)
	in.InternalPortID.Apply(&v.InternalPortID)
	in.InternalIP.Apply(&v.InternalIP)
	in.InternalRange.Apply(&v.InternalRange)
	in.ExternalRange.Apply(&v.ExternalRange)
	if in.InternalPort.Set {
		v.InternalRange = strconv.Itoa(in.InternalPort.Value)
	}
	if in.ExternalPort.Set {
		v.ExternalRange = strconv.Itoa(in.ExternalPort.Value)
	}
	if err := oneOf("protocol", v.Protocol, "tcp", "udp", "icmp", "icmp6", "sctp", "dccp"); err != nil {
		return err
	}
	for _, text := range []*string{&v.InternalRange, &v.ExternalRange} {
		low, high, err := parseRange(*text)
		if err != nil {
			return err
		}
		*text = fmt.Sprintf("%d:%d", low, high)
	}
	return lengths("", v.Description)
}

func (n *Core) createForwarding(c *api.Call) error {
	raws, _, err := items(c, "port_forwarding", "port_forwardings")
	if err != nil {
		return err
	}
	var in forwardingInput
	if err := decodeInto(raws[0], &in, reflect.TypeFor[forwardingView](), http.MethodPost); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		floating, err := n.floatingIPs().find(tx, c.Principal, c.Path("floatingip"))
		if err != nil {
			return err
		}
		if floating.PortID != nil {
			return conflict("FipInUseByPortForwarding", "Floating IP %s in use by Port %s.", floating.ID, *floating.PortID)
		}
		v := model.PortForwarding{NetworkMeta: n.newMeta(floating.ProjectID, owned{}), FloatingIPID: floating.ID}
		if err := in.apply(&v); err != nil {
			return err
		}
		if err := n.placeForwarding(tx, c.Principal, floating, &v); err != nil {
			return err
		}
		n.model.Forwardings.Put(tx, v)
		n.forwardingRouter(tx, floating.ID, "")
		return c.Reply(http.StatusCreated, map[string]any{"port_forwarding": newForwardingView(tx, c.Principal, v)})
	})
}

// placeForwarding finds port and router and refuses what is taken.
func (n *Core) placeForwarding(r store.Reader, p *api.Principal, floating model.FloatingIP, v *model.PortForwarding) error {
	port, err := n.ports().find(r, p, v.InternalPortID)
	if err != nil {
		return err
	}
	ip, err := n.fixedFor(r, port, v.InternalIP)
	if err != nil {
		return err
	}
	v.InternalIP = ip.IPAddress
	if v.RouterID, err = n.routerFor(r, floating, port, ip); err != nil {
		return err
	}
	low, high, _ := parseRange(v.ExternalRange)
	for other := range n.model.ForwardingsOfFloatingIP.Each(r, floating.ID) {
		otherLow, otherHigh, _ := parseRange(other.ExternalRange)
		if other.ID != v.ID && other.Protocol == v.Protocol && low <= otherHigh && otherLow <= high {
			return api.BadRequest("Bad port_forwarding request: A duplicate port forwarding entry with same attributes already exists, conflicting values are %s.", v.ExternalRange)
		}
	}
	return nil
}

func (n *Core) updateForwarding(tx *store.Tx, p *api.Principal, old model.PortForwarding, raw json.RawMessage) (model.PortForwarding, error) {
	var in forwardingInput
	if err := decodeInto(raw, &in, reflect.TypeFor[forwardingView](), http.MethodPut); err != nil {
		return old, err
	}
	v := old
	if in.InternalPortID.Set && !in.InternalIP.Set {
		v.InternalIP = ""
	}
	floating, err := n.floatingIPs().find(tx, p, old.FloatingIPID)
	if err != nil {
		return old, err
	}
	return v, errorOr(in.apply(&v), n.placeForwarding(tx, p, floating, &v))
}

// forwardingRouter notes in the floating IP by which router its forwardings
// go, and its status; one forwarding does not count.
func (n *Core) forwardingRouter(tx *store.Tx, floatingID, without string) {
	n.model.FloatingIPs.Change(tx, floatingID, func(v *model.FloatingIP) {
		v.RouterID, v.Status = nil, "DOWN"
		for forwarding := range n.model.ForwardingsOfFloatingIP.Each(tx, floatingID) {
			if forwarding.ID != without {
				v.RouterID, v.Status = &forwarding.RouterID, "ACTIVE"
			}
		}
		n.touch(&v.NetworkMeta)
	})
}
