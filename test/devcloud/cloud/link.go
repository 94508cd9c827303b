package cloud

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// join makes the way from the host into the namespaces: two ends of a wire. The
// kernel takes both away when the namespaces end, unless somebody has copied the mounts of the
// host meanwhile: a copy keeps the namespaces that are mounted. So that of a former run is deleted.
func (c *Cloud) join(pid int) error {
	inner := "way-out"
	wire := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: c.link()}, PeerName: inner, PeerNamespace: netlink.NsPid(pid)}
	if old, err := netlink.LinkByName(c.link()); err == nil {
		if err := netlink.LinkDel(old); err != nil {
			return fmt.Errorf("deleting link %s of a former run: %w", c.link(), err)
		}
	}
	if err := netlink.LinkAdd(wire); err != nil {
		return fmt.Errorf("making link %s: %w", c.link(), err)
	}
	if err := raise(nil, c.link(), c.HostAddress()); err != nil {
		return err
	}
	space, err := netns.GetFromPid(pid)
	if err != nil {
		return fmt.Errorf("opening the network namespace: %w", err)
	}
	defer space.Close()
	handle, err := netlink.NewHandleAt(space)
	if err != nil {
		return fmt.Errorf("entering the network namespace: %w", err)
	}
	defer handle.Close()
	err = errors.Join(raise(handle, "lo", netip.Addr{}), raise(handle, inner, c.Address()), c.route())
	if err != nil || c.Machines {
		return err // the machines' switch takes the external network, when it runs
	}
	return c.refuse(handle)
}

// route makes the host's calls to the external network go into the cloud.
// Without it they would go to whatever the host has by default. The kernel
// deletes the route with its link.
func (c *Cloud) route() error {
	link, err := netlink.LinkByName(c.link())
	if err != nil {
		return fmt.Errorf("finding link %s: %w", c.link(), err)
	}
	all := c.externalNet()
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: all, Gw: c.Address().AsSlice()}); err != nil {
		return fmt.Errorf("routing %s: %w", all, err)
	}
	return nil
}

func (c *Cloud) externalNet() *net.IPNet {
	return &net.IPNet{IP: c.external().Addr().AsSlice(), Mask: net.CIDRMask(c.external().Bits(), 32)}
}

// refuse makes calls to the external network end in the cloud, where nothing listens.
func (c *Cloud) refuse(inside *netlink.Handle) error {
	loopback, err := inside.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("finding the loopback link: %w", err)
	}
	all := c.externalNet()
	local := &netlink.Route{LinkIndex: loopback.Attrs().Index, Dst: all, Type: unix.RTN_LOCAL, Scope: netlink.SCOPE_HOST, Table: unix.RT_TABLE_LOCAL}
	if err := inside.RouteAdd(local); err != nil {
		return fmt.Errorf("taking %s: %w", all, err)
	}
	return nil
}

// raise gives a link an address and sets it up; without a handle, on the host.
func raise(handle *netlink.Handle, name string, address netip.Addr) error {
	if handle == nil {
		handle = &netlink.Handle{}
	}
	link, err := handle.LinkByName(name)
	if err != nil {
		return fmt.Errorf("finding link %s: %w", name, err)
	}
	if address.IsValid() {
		net := &net.IPNet{IP: address.AsSlice(), Mask: net.CIDRMask(30, 32)}
		if err := handle.AddrAdd(link, &netlink.Addr{IPNet: net}); err != nil {
			return fmt.Errorf("addressing link %s: %w", name, err)
		}
	}
	if err := handle.LinkSetUp(link); err != nil {
		return fmt.Errorf("setting link %s up: %w", name, err)
	}
	return nil
}
