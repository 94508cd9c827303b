package fabric

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// Links of a router have the names that Neutron uses: interfaces qr-, gateway qg-.
func interfaceName(portID string) string { return "qr-" + portID[:min(11, len(portID))] }
func gatewayName(portID string) string   { return "qg-" + portID[:min(11, len(portID))] }

var routerSettings = map[string]string{
	"ipv4/ip_forward":                 "1",
	"ipv6/conf/all/forwarding":        "1",
	"ipv4/conf/all/rp_filter":         "0",
	"ipv4/conf/default/rp_filter":     "0",
	"ipv6/conf/default/accept_ra":     "0",
	"ipv6/conf/default/accept_dad":    "0",
	"ipv4/conf/all/send_redirects":    "0",
	"ipv4/conf/default/arp_announce":  "1",
	"bridge/bridge-nf-call-iptables":  "0",
	"bridge/bridge-nf-call-ip6tables": "0",
	"ipv4/icmp_ratelimit":             "0", // as in networks
}

// ApplyRouter changes the router's interfaces, routes and translations to the wanted ones.
func (f *Fabric) ApplyRouter(_ context.Context, r machine.Router) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.routers[r.ID] = r
	space := f.space(rtrSpace, r.ID)
	err := namespace.Create(space)
	if err == nil {
		err = settings(space, routerSettings)
	}
	if err == nil {
		err = f.plugRouter(space, r)
	}
	if err == nil {
		err = inside(space, func(h *netlink.Handle) error { return routeRouter(h, r) })
	}
	if err == nil {
		err = f.translate(space, r)
	}
	if err == nil {
		err = f.refuseNames(space, r)
	}
	if err == nil && r.Gateway != nil {
		// Neighbours may know a floating IP by the MAC of another router.
		err = announce(space, gatewayName(r.Gateway.ID), outside(r))
	}
	if err != nil {
		return fmt.Errorf("applying router %s: %w", r.ID, err)
	}
	return nil
}

func (f *Fabric) plugRouter(space string, r machine.Router) error {
	keep := map[string]bool{}
	for _, p := range r.Interfaces {
		name := interfaceName(p.ID)
		keep[name] = true
		if err := f.plug(Plug{Space: space, Name: name, Port: p, Wait: true}); err != nil {
			return fmt.Errorf("interface %s: %w", p.ID, err)
		}
	}
	if g := r.Gateway; g != nil {
		name := gatewayName(g.ID)
		keep[name] = true
		plug := Plug{Space: space, Name: name, Port: *g, Wait: true}
		for _, t := range r.Translations {
			plug.Extra = append(plug.Extra, netip.PrefixFrom(t.Floating, t.Floating.BitLen()))
		}
		if err := f.plug(plug); err != nil {
			return fmt.Errorf("gateway %s: %w", g.ID, err)
		}
	}
	return inside(space, func(h *netlink.Handle) error { return removeOthers(h, keep, "qr-", "qg-") })
}

// routeRouter sets the default route and the extra routes. An extra route is added to the link
// whose subnet has its next hop.
func routeRouter(h *netlink.Handle, r machine.Router) error {
	ports := append([]machine.Port(nil), r.Interfaces...)
	names := map[string]string{}
	for _, p := range ports {
		names[p.ID] = interfaceName(p.ID)
	}
	if r.Gateway != nil {
		ports = append(ports, *r.Gateway)
		names[r.Gateway.ID] = gatewayName(r.Gateway.ID)
	}
	for i, p := range ports {
		link, err := h.LinkByName(names[p.ID])
		if err != nil {
			return err
		}
		var want []netlink.Route
		for _, a := range p.Addresses {
			if r.Gateway != nil && i == len(ports)-1 && a.Gateway.IsValid() {
				want = append(want, via(netip.PrefixFrom(zero(a.Gateway), 0), a.Gateway, link.Attrs().Index))
			}
			for _, extra := range r.Routes {
				if a.Prefix.Masked().Contains(extra.Via) {
					want = append(want, via(extra.Destination, extra.Via, link.Attrs().Index))
				}
			}
		}
		if err := ensureRoutes(h, link, want); err != nil {
			return err
		}
	}
	return nil
}

// DeleteRouter removes the router and its ports.
func (f *Fabric) DeleteRouter(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.routers, id)
	space := f.space(rtrSpace, id)
	var err error
	if namespace.Exists(space) {
		// A namespace ends some time after its name; its addresses must not
		// answer until then.
		err = inside(space, func(h *netlink.Handle) error { return removeOthers(h, nil, "qr-", "qg-") })
	}
	if err = errors.Join(err, namespace.Delete(space)); err != nil {
		return fmt.Errorf("deleting router %s: %w", id, err)
	}
	return nil
}
