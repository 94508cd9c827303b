// Package plan derives from the model what a driver's fabric should be, and keeps the fabric that
// way.
package plan

import (
	"net/netip"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// Cards finds what a driver needs to know about a port; *network.Core implements it.
type Cards interface {
	Card(r store.Reader, portID string) (machine.Port, bool)
}

// Plan is everything that a fabric has, by id; filters are by the id of their port.
type Plan struct {
	Networks map[string]machine.Network
	Routers  map[string]machine.Router
	Filters  map[string]machine.Filter
}

// Of computes the plan. It reads the model and nothing else.
func Of(r store.Reader, m *model.Networking, cards Cards) Plan {
	p := planner{r, m, cards}
	plan := Plan{map[string]machine.Network{}, map[string]machine.Router{}, map[string]machine.Filter{}}
	for n := range m.Networks.All(r) {
		plan.Networks[n.ID] = p.network(n)
	}
	for router := range m.Routers.All(r) {
		plan.Routers[router.ID] = p.router(router)
	}
	for port := range m.Ports.All(r) {
		if filtered(port) {
			if f, ok := p.filter(port); ok {
				plan.Filters[port.ID] = f
			}
		}
	}
	return plan
}

// filtered reports whether something is plugged into a port; the other ports are the network
// service's own.
func filtered(p model.Port) bool {
	switch p.DeviceOwner {
	case model.OwnerRouterInterface, model.OwnerRouterGateway, model.OwnerFloatingIP:
		return false
	}
	return true
}

type planner struct {
	store.Reader
	*model.Networking
	cards Cards
}

func (p planner) network(n model.Network) machine.Network {
	out := machine.Network{ID: n.ID, MTU: n.MTU, External: n.External}
	for s := range p.SubnetsOfNetwork.Each(p.Reader, n.ID) {
		prefix, err := netip.ParsePrefix(s.CIDR)
		if err != nil {
			continue
		}
		subnet := machine.Subnet{ID: s.ID, Prefix: prefix, DHCP: s.DHCP}
		if s.Gateway != nil {
			subnet.Gateway, _ = netip.ParseAddr(*s.Gateway)
		}
		for _, text := range s.Nameservers {
			if a, err := netip.ParseAddr(text); err == nil {
				subnet.Nameservers = append(subnet.Nameservers, a)
			}
		}
		subnet.Routes = routes(s.HostRoutes)
		out.Subnets = append(out.Subnets, subnet)
	}
	return out
}

func routes(all []model.HostRoute) []machine.Route {
	var out []machine.Route
	for _, r := range all {
		to, err := netip.ParsePrefix(r.Destination)
		hop, hopErr := netip.ParseAddr(r.NextHop)
		if err == nil && hopErr == nil {
			out = append(out, machine.Route{Destination: to, Via: hop})
		}
	}
	return out
}

// router leaves out everything of a router that is switched off.
func (p planner) router(v model.Router) machine.Router {
	out := machine.Router{ID: v.ID}
	if !v.AdminStateUp {
		return out
	}
	for port := range p.PortsOfDevice.Each(p.Reader, v.ID) {
		if port.DeviceOwner != model.OwnerRouterInterface || !port.AdminStateUp {
			continue
		}
		if card, ok := p.cards.Card(p.Reader, port.ID); ok {
			out.Interfaces = append(out.Interfaces, card)
		}
	}
	out.Routes = routes(v.Routes)
	if v.Gateway == nil {
		return out
	}
	if card, ok := p.cards.Card(p.Reader, v.GatewayPortID); ok {
		out.Gateway, out.SNAT = &card, v.Gateway.SNAT
	}
	for ip := range p.FloatingIPsOfRouter.Each(p.Reader, v.ID) {
		if ip.FixedIP == nil {
			continue
		}
		floating, err := netip.ParseAddr(ip.IPAddress)
		fixed, fixedErr := netip.ParseAddr(*ip.FixedIP)
		if err == nil && fixedErr == nil {
			out.Translations = append(out.Translations, machine.Translation{Floating: floating, Fixed: fixed})
		}
	}
	return out
}

// balancerOwner is the owner of a load balancer's port. Octavia opens the port for its listeners
// with a security group of its own; here the load balancer itself answers only on the ports of its
// listeners, and only allowed CIDRs.
const balancerOwner = "Octavia"

// filter returns the filter of a port. A port that is switched off lets nothing through.
func (p planner) filter(v model.Port) (machine.Filter, bool) {
	card, ok := p.cards.Card(p.Reader, v.ID)
	if !ok {
		return machine.Filter{}, false
	}
	f := machine.Filter{Port: card}
	if !v.AdminStateUp {
		return f, true
	}
	if f.Disabled = !v.PortSecurity || v.DeviceOwner == balancerOwner; f.Disabled {
		return f, true
	}
	for _, pair := range v.AllowedPairs {
		if prefix, ok := prefix(pair.IPAddress); ok {
			f.AllowedPairs = append(f.AllowedPairs, machine.Pair{Prefix: prefix, MAC: pair.MAC})
		}
	}
	for _, group := range v.Groups {
		for rule := range p.RulesOfGroup.Each(p.Reader, group) {
			f.Rules = append(f.Rules, p.rule(rule))
		}
	}
	return f, true
}

func (p planner) rule(v model.SecurityGroupRule) machine.Rule {
	out := machine.Rule{Ingress: v.Direction == "ingress", IPv6: v.EtherType == "IPv6", Protocol: text(v.Protocol)}
	out.PortMin, out.PortMax = number(v.PortMin, out.Protocol), number(v.PortMax, out.Protocol)
	switch {
	case v.RemotePrefix != nil:
		out.Remotes = prefixes([]string{*v.RemotePrefix})
	case v.RemoteGroup != nil:
		out.Remotes = p.members(*v.RemoteGroup)
	case v.RemoteAddress != nil:
		group, _ := p.AddressGroups.Get(p.Reader, *v.RemoteAddress)
		out.Remotes = prefixes(group.Addresses)
	}
	return out
}

// members returns the addresses of a group's ports, and the other addresses that the ports may use.
func (p planner) members(groupID string) []netip.Prefix {
	out := []netip.Prefix{}
	for port := range p.PortsOfGroup.Each(p.Reader, groupID) {
		for _, ip := range port.FixedIPs {
			out = append(out, prefixes([]string{ip.IPAddress})...)
		}
		for _, pair := range port.AllowedPairs {
			out = append(out, prefixes([]string{pair.IPAddress})...)
		}
	}
	return out
}

// number returns a port, or the type or code of ICMP, where 0 is a value and -1 means any.
func number(n *int, protocol string) int {
	switch {
	case n != nil:
		return *n
	case protocol == "icmp" || protocol == "icmpv6" || protocol == "ipv6-icmp" || protocol == "1" || protocol == "58":
		return -1
	}
	return 0
}

// prefixes never returns nil, because nil would mean any address.
func prefixes(texts []string) []netip.Prefix {
	out := []netip.Prefix{}
	for _, text := range texts {
		if p, ok := prefix(text); ok {
			out = append(out, p)
		}
	}
	return out
}

func prefix(text string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p, true
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(a, a.BitLen()), true
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
