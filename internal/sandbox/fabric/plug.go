package fabric

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// Plug is a port and the place of its other end.
type Plug struct {
	// Space is the file of a network namespace, Name the link's name in it.
	Space, Name string
	Port        machine.Port
	// Extra are addresses that the link has in addition to the port's.
	Extra []netip.Prefix
	// Host adds what a machine gets by DHCP elsewhere: the gateways, the routes of the subnets and
	// the route to the metadata service.
	Host bool
	// Wait makes Plug wait until packets get through, for which the kernel may need a second; a
	// machine takes that long to boot anyway.
	Wait bool
}

// Plug connects a namespace to a network: a link with the port's MAC, MTU,
// addresses and routes. It waits for the network.
func (f *Fabric) Plug(ctx context.Context, p Plug) error {
	err := f.await(ctx, p.Port.NetworkID)
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		err = f.plug(p)
	}
	if err != nil {
		return fmt.Errorf("plugging port %s: %w", p.Port.ID, err)
	}
	return nil
}

func (f *Fabric) plug(p Plug) error {
	if !namespace.Exists(f.Space(p.Port.NetworkID)) {
		return fmt.Errorf("network %s is not there yet", p.Port.NetworkID)
	}
	mac, err := net.ParseMAC(p.Port.MAC)
	if err != nil {
		return err
	}
	if err := inside(f.Space(p.Port.NetworkID), func(network *netlink.Handle) error { return f.wire(network, p, mac) }); err != nil {
		return err
	}
	if filter, ok := f.filters[p.Port.ID]; ok {
		if err := f.filter(filter); err != nil {
			return err
		}
	}
	if err := inside(f.Space(p.Port.NetworkID), func(h *netlink.Handle) error { return up(h, tap(p.Port.ID)) }); err != nil {
		return err
	}
	if err := inside(p.Space, func(h *netlink.Handle) error { return f.address(h, p) }); err != nil || !p.Wait {
		return err
	}
	return inside(f.Space(p.Port.NetworkID), func(h *netlink.Handle) error { return ready(h, tap(p.Port.ID)) })
}

// readyTime is longer than the kernel delays changes of links (linkwatch: 1 s).
const readyTime = 3 * time.Second

// ready waits until the bridge forwards what a link sends.
func ready(h *netlink.Handle, name string) error {
	for end := time.Now().Add(readyTime); ; time.Sleep(10 * time.Millisecond) {
		link, err := h.LinkByName(name)
		if err != nil {
			return err
		}
		if link.Attrs().OperState == netlink.OperUp {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("link %s does not come up", name)
		}
	}
}

// wire creates the pair of links, unless the port has it already.
func (f *Fabric) wire(network *netlink.Handle, p Plug, mac net.HardwareAddr) error {
	h, ns, err := at(p.Space)
	if err != nil {
		return err
	}
	defer ns.Close()
	defer h.Close()
	near, nearErr := network.LinkByName(tap(p.Port.ID))
	far, farErr := h.LinkByName(p.Name)
	if nearErr == nil && farErr == nil && near.Attrs().ParentIndex == far.Attrs().Index && far.Attrs().HardwareAddr.String() == mac.String() {
		if p.Port.MTU > 0 {
			return errors.Join(network.LinkSetMTU(near, p.Port.MTU), h.LinkSetMTU(far, p.Port.MTU))
		}
		return nil
	}
	if err := errors.Join(removeLink(network, tap(p.Port.ID)), removeLink(h, p.Name)); err != nil {
		return err
	}
	return addPair(network, pair{Name: tap(p.Port.ID), Peer: p.Name, PeerSpace: ns, PeerMAC: mac, MTU: p.Port.MTU})
}

// address changes the addresses and routes of the far end to the wanted ones.
func (f *Fabric) address(h *netlink.Handle, p Plug) error {
	if err := up(h, "lo", p.Name); err != nil {
		return err
	}
	link, err := h.LinkByName(p.Name)
	if err != nil {
		return err
	}
	want := append([]netip.Prefix(nil), p.Extra...)
	for _, a := range p.Port.Addresses {
		want = append(want, a.Prefix)
	}
	if err := ensureAddresses(h, link, want); err != nil {
		return err
	}
	if !p.Host {
		return nil
	}
	return ensureRoutes(h, link, hostRoutes(p, link.Attrs().Index))
}

// ensureAddresses changes the addresses of a link to the wanted ones. It removes unwanted ones
// first: if the kernel does not promote secondary addresses (promote_secondaries), all addresses of
// a subnet are removed with the first one.
func ensureAddresses(h *netlink.Handle, link netlink.Link, want []netip.Prefix) error {
	keep := map[string]bool{}
	for _, a := range want {
		keep[a.String()] = true
	}
	have, err := h.AddrList(link, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("listing addresses: %w", err)
	}
	for _, a := range have {
		if keep[a.IPNet.String()] || a.Scope == unix.RT_SCOPE_LINK {
			continue
		}
		if err := h.AddrDel(link, &a); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return fmt.Errorf("removing address %s: %w", a.IPNet, err)
		}
	}
	for _, a := range want {
		if err := h.AddrReplace(link, &netlink.Addr{IPNet: ipNet(a), Flags: nodad(a.Addr())}); err != nil {
			return fmt.Errorf("adding address %s: %w", a, err)
		}
	}
	return nil
}

// hostRoutes returns the routes of a machine's link. If two links have a route to the same
// destination, the earlier link is preferred.
func hostRoutes(p Plug, index int) []netlink.Route {
	metadata := netip.MustParsePrefix(MetadataAddress + "/32")
	routes := []netlink.Route{{LinkIndex: index, Dst: ipNet(metadata), Scope: unix.RT_SCOPE_LINK, Priority: index}}
	for _, a := range p.Port.Addresses {
		if a.Gateway.IsValid() {
			routes = append(routes, via(netip.PrefixFrom(zero(a.Gateway), 0), a.Gateway, index))
		}
		for _, r := range a.Routes {
			routes = append(routes, via(r.Destination, r.Via, index))
		}
	}
	return routes
}

func via(to netip.Prefix, gateway netip.Addr, index int) netlink.Route {
	return netlink.Route{LinkIndex: index, Dst: ipNet(to), Gw: gateway.AsSlice(), Priority: index}
}

func zero(a netip.Addr) netip.Addr {
	if a.Is6() {
		return netip.IPv6Unspecified()
	}
	return netip.IPv4Unspecified()
}

// Unplug removes a port's link. It is no error if there is none.
func (f *Fabric) Unplug(_ context.Context, p machine.Port) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !namespace.Exists(f.Space(p.NetworkID)) {
		return nil
	}
	err := inside(f.Space(p.NetworkID), func(h *netlink.Handle) error { return removeLink(h, tap(p.ID)) })
	if err != nil {
		return fmt.Errorf("unplugging port %s: %w", p.ID, err)
	}
	return nil
}

// removeOthers removes the links of a namespace whose names have one of the prefixes and are not in
// keep.
func removeOthers(h *netlink.Handle, keep map[string]bool, prefixes ...string) error {
	links, err := h.LinkList()
	if err != nil {
		return fmt.Errorf("listing links: %w", err)
	}
	for _, l := range links {
		name := l.Attrs().Name
		for _, prefix := range prefixes {
			if strings.HasPrefix(name, prefix) && !keep[name] {
				err = errors.Join(err, removeLink(h, name))
			}
		}
	}
	return err
}
