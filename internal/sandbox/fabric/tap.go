package fabric

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"os"

	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// Tap creates a tap device as the network's end of a port, for a virtual machine that uses the
// returned file as the other end, its network card. The device ends when the last process closes
// the file. It waits for the network.
func (f *Fabric) Tap(ctx context.Context, p machine.Port) (*os.File, error) {
	if err := f.await(ctx, p.NetworkID); err != nil {
		return nil, fmt.Errorf("making a tap device for port %s: %w", p.ID, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	file, err := f.tap(p)
	if err != nil {
		return nil, fmt.Errorf("making a tap device for port %s: %w", p.ID, err)
	}
	return file, nil
}

func (f *Fabric) tap(p machine.Port) (*os.File, error) {
	space, name := f.Space(p.NetworkID), tap(p.ID)
	if !namespace.Exists(space) {
		return nil, fmt.Errorf("network %s is not there yet", p.NetworkID)
	}
	if err := inside(space, func(h *netlink.Handle) error { return removeLink(h, name) }); err != nil {
		return nil, err
	}
	file, err := openTap(space, name)
	if err != nil {
		return nil, err
	}
	err = inside(space, func(h *netlink.Handle) error { return toBridge(h, name, p.MTU) })
	if filter, ok := f.filters[p.ID]; err == nil && ok {
		err = f.filter(filter)
	}
	if err == nil {
		err = inside(space, func(h *netlink.Handle) error { return up(h, name) })
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// openTap creates the device. Its packets have a header with which a guest leaves checksums and
// segmentation to others (virtio), like the links of containers do.
func openTap(space, name string) (*os.File, error) {
	var fd int
	err := namespace.Do(space, func() (err error) {
		// Not by package os, which would make it non-blocking and poll it.
		if fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
			return fmt.Errorf("opening /dev/net/tun: %w", err)
		}
		request, err := unix.NewIfreq(name)
		if err == nil {
			request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
		}
		if err != nil {
			unix.Close(fd)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func toBridge(h *netlink.Handle, name string, mtu int) error {
	br, err := h.LinkByName(bridge)
	if err != nil {
		return fmt.Errorf("finding the network's bridge: %w", err)
	}
	link, err := h.LinkByName(name)
	if err != nil {
		return err
	}
	if mtu > 0 {
		if err := h.LinkSetMTU(link, mtu); err != nil {
			return fmt.Errorf("setting MTU %d: %w", mtu, err)
		}
	}
	return h.LinkSetMaster(link, br)
}

// bridgeMAC returns the MAC of a network's bridge. A bridge without a MAC of its own takes the one
// of a link, and changes it when that link is removed.
func bridgeMAC(networkID string) net.HardwareAddr {
	sum := sha256.Sum256([]byte(networkID))
	return net.HardwareAddr{0x02, sum[0], sum[1], sum[2], sum[3], sum[4]}
}

// metadataRule gives packets for the metadata service to the bridge, whatever their MAC address:
// virtual machines reach it only by the default route.
func metadataRule(mac net.HardwareAddr) expression {
	return join(metaIs(expr.MetaKeyPROTOCOL, []byte{8, 0}),
		payload(expr.PayloadBaseNetworkHeader, 16, 4), cmp(expr.CmpOpEq, net.ParseIP(MetadataAddress).To4()),
		expression{
			&expr.Immediate{Register: 1, Data: mac},
			&expr.Payload{OperationType: expr.PayloadWrite, SourceRegister: 1, Base: expr.PayloadBaseLLHeader, Offset: 0, Len: 6},
			&expr.Immediate{Register: 1, Data: []byte{unix.PACKET_HOST}},
			&expr.Meta{Key: expr.MetaKeyPKTTYPE, SourceRegister: true, Register: 1},
		})
}
