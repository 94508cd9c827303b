package fabric

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// ApplyNetwork creates the network's bridge and, for an external network, the link to the host.
func (f *Fabric) ApplyNetwork(_ context.Context, n machine.Network) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	space := f.Space(n.ID)
	err := namespace.Create(space)
	if err == nil {
		err = settings(space, networkSettings)
	}
	if err == nil {
		err = inside(space, func(h *netlink.Handle) error { return ensureBridge(h, n) })
	}
	if err == nil {
		err = baseRules(space, bridgeMAC(n.ID))
	}
	if err == nil {
		err = f.applyUplink(n)
	}
	if err != nil {
		return fmt.Errorf("applying network %s: %w", n.ID, err)
	}
	f.networks[n.ID] = n
	return nil
}

// networkSettings let filters see what passes the bridge, and prevent the namespace from routing.
var networkSettings = map[string]string{
	"bridge/bridge-nf-call-iptables":  "1",
	"bridge/bridge-nf-call-ip6tables": "1",
	"bridge/bridge-nf-call-arptables": "0",
	"ipv4/ip_forward":                 "0",
	"ipv4/conf/all/rp_filter":         "0",
	"ipv4/conf/default/rp_filter":     "0",
	"ipv6/conf/default/accept_ra":     "0",
	"ipv6/conf/default/accept_dad":    "0",
	// No answer "port unreachable" is held back: after six of them in a second a
	// resolver would wait 5 s, cloud-init in each machine that boots.
	"ipv4/icmp_ratelimit": "0",
}

func ensureBridge(h *netlink.Handle, n machine.Network) error {
	link, err := h.LinkByName(bridge)
	if missing(err) {
		snooping := false
		err = h.LinkAdd(&netlink.Bridge{LinkAttrs: attrs(bridge, n.MTU), MulticastSnooping: &snooping})
		if err == nil {
			link, err = h.LinkByName(bridge)
		}
	}
	if err != nil {
		return fmt.Errorf("making bridge: %w", err)
	}
	if mac := bridgeMAC(n.ID); link.Attrs().HardwareAddr.String() != mac.String() {
		if err := h.LinkSetHardwareAddr(link, mac); err != nil {
			return fmt.Errorf("setting the bridge's MAC: %w", err)
		}
	}
	if n.MTU > 0 {
		if err := h.LinkSetMTU(link, n.MTU); err != nil {
			return fmt.Errorf("setting MTU %d: %w", n.MTU, err)
		}
	}
	if err := up(h, "lo", bridge); err != nil {
		return err
	}
	address, _ := netlink.ParseAddr(MetadataAddress + "/32")
	if err := h.AddrReplace(link, address); err != nil {
		return fmt.Errorf("adding metadata address: %w", err)
	}
	return ensureRoutes(h, link, subnetRoutes(n, link))
}

// subnetRoutes returns the routes for answers of the metadata service.
func subnetRoutes(n machine.Network, link netlink.Link) []netlink.Route {
	var routes []netlink.Route
	for _, s := range n.Subnets {
		if s.Prefix.Addr().Is4() {
			routes = append(routes, netlink.Route{LinkIndex: link.Attrs().Index, Dst: ipNet(s.Prefix.Masked()),
				Scope: unix.RT_SCOPE_LINK, Src: net.ParseIP(MetadataAddress)})
		}
	}
	return routes
}

// ensureRoutes changes the fabric's routes over a link to the wanted ones.
func ensureRoutes(h *netlink.Handle, link netlink.Link, want []netlink.Route) error {
	keep := map[string]bool{}
	for _, r := range want {
		r.Protocol = routeProtocol
		if err := h.RouteReplace(&r); err != nil {
			return fmt.Errorf("adding route to %v: %w", r.Dst, err)
		}
		keep[routeKey(r)] = true
	}
	have, err := h.RouteListFiltered(netlink.FAMILY_ALL, &netlink.Route{LinkIndex: link.Attrs().Index, Protocol: routeProtocol},
		netlink.RT_FILTER_OIF|netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return fmt.Errorf("listing routes: %w", err)
	}
	for _, r := range have {
		if !keep[routeKey(r)] {
			if err := h.RouteDel(&r); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("removing route to %v: %w", r.Dst, err)
			}
		}
	}
	return nil
}

func routeKey(r netlink.Route) string {
	dst := "default"
	if r.Dst != nil && (len(r.Dst.Mask) == 0 || !isZero(r.Dst)) {
		dst = r.Dst.String()
	} else if r.Gw.To4() == nil {
		dst = "default6"
	}
	return dst + " " + r.Gw.String()
}

func isZero(n *net.IPNet) bool { ones, _ := n.Mask.Size(); return ones == 0 }

// DeleteNetwork removes the network with its bridge.
func (f *Fabric) DeleteNetwork(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.networks, id)
	if err := errors.Join(f.removeUplinks(id), namespace.Delete(f.Space(id))); err != nil {
		return fmt.Errorf("deleting network %s: %w", id, err)
	}
	return nil
}

// alias returns the alias of the host's end of an external network, which says whose it is.
func (f *Fabric) alias(networkID string) string { return "slipway/" + f.Tag + "/" + networkID }

// applyUplink connects an external network to the host, which gets the
// addresses of the subnets' gateways.
func (f *Fabric) applyUplink(n machine.Network) error {
	if !n.External {
		return f.removeUplinks(n.ID)
	}
	host, hostSpace, err := at(f.Host)
	if err != nil {
		return err
	}
	defer hostSpace.Close()
	defer host.Close()
	name := short("sw", f.Tag, n.ID)
	link, err := host.LinkByName(name)
	if missing(err) {
		if link, err = f.makeUplink(host, hostSpace, name, n); err != nil {
			return fmt.Errorf("connecting to the host: %w", err)
		}
	}
	if err != nil {
		return err
	}
	var gateways []netip.Prefix
	for _, s := range n.Subnets {
		if s.Gateway.IsValid() {
			gateways = append(gateways, netip.PrefixFrom(s.Gateway, s.Prefix.Bits()))
		}
	}
	if err := ensureAddresses(host, link, gateways); err != nil {
		return fmt.Errorf("giving the host the network's gateways: %w", err)
	}
	return host.LinkSetUp(link)
}

func (f *Fabric) makeUplink(host *netlink.Handle, space netns.NsHandle, name string, n machine.Network) (netlink.Link, error) {
	var link netlink.Link
	err := inside(f.Space(n.ID), func(h *netlink.Handle) error {
		if err := addPair(h, pair{Name: uplink, Peer: name, PeerSpace: space, MTU: n.MTU}); err != nil {
			return err
		}
		return up(h, uplink)
	})
	if err == nil {
		link, err = host.LinkByName(name)
	}
	if err == nil {
		err = host.LinkSetAlias(link, f.alias(n.ID))
	}
	return link, err
}

// removeUplinks removes the host's link to a network, or the links to all networks when id is
// empty, with their addresses and routes.
func (f *Fabric) removeUplinks(id string) error {
	host, hostSpace, err := at(f.Host)
	if err != nil {
		return err
	}
	defer hostSpace.Close()
	defer host.Close()
	links, err := host.LinkList()
	if err != nil {
		return fmt.Errorf("listing the host's links: %w", err)
	}
	for _, l := range links {
		alias := l.Attrs().Alias
		if id != "" && alias == f.alias(id) || id == "" && strings.HasPrefix(alias, f.alias("")) {
			if err := host.LinkDel(l); err != nil && !missing(err) {
				return fmt.Errorf("removing the host's link %s: %w", l.Attrs().Name, err)
			}
		}
	}
	return nil
}
