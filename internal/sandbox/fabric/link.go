package fabric

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

func attrs(name string, mtu int) netlink.LinkAttrs {
	a := netlink.NewLinkAttrs()
	a.Name, a.MTU = name, mtu
	return a
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// nodad makes an IPv6 address usable at once: it comes from an allocator.
func nodad(a netip.Addr) int {
	if a.Is6() {
		return unix.IFA_F_NODAD
	}
	return 0
}

func up(h *netlink.Handle, names ...string) error {
	for _, name := range names {
		link, err := h.LinkByName(name)
		if err == nil {
			err = h.LinkSetUp(link)
		}
		if err != nil {
			return fmt.Errorf("setting link %s up: %w", name, err)
		}
	}
	return nil
}

// pair is a pair of linked interfaces: Name on the bridge of a network's
// namespace, Peer elsewhere.
type pair struct {
	Name, Peer string
	PeerSpace  netns.NsHandle
	PeerMAC    net.HardwareAddr
	MTU        int
}

func addPair(h *netlink.Handle, p pair) error {
	br, err := h.LinkByName(bridge)
	if err != nil {
		return fmt.Errorf("finding the network's bridge: %w", err)
	}
	a := attrs(p.Name, p.MTU)
	a.MasterIndex = br.Attrs().Index
	veth := &netlink.Veth{LinkAttrs: a, PeerName: p.Peer, PeerNamespace: netlink.NsFd(p.PeerSpace),
		PeerHardwareAddr: p.PeerMAC, PeerMTU: uint32(p.MTU)}
	if err := h.LinkAdd(veth); err != nil {
		return fmt.Errorf("making link %s: %w", p.Name, err)
	}
	return nil
}

func removeLink(h *netlink.Handle, name string) error {
	link, err := h.LinkByName(name)
	if err == nil {
		err = h.LinkDel(link)
	}
	if err != nil && !missing(err) {
		return fmt.Errorf("removing link %s: %w", name, err)
	}
	return nil
}
