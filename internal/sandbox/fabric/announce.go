package fabric

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// outside returns the addresses that a router has on its external network.
func outside(r machine.Router) []netip.Addr {
	var all []netip.Addr
	for _, a := range r.Gateway.Addresses {
		all = append(all, a.Prefix.Addr())
	}
	for _, t := range r.Translations {
		all = append(all, t.Floating)
	}
	return all
}

// announce sends a gratuitous ARP request (RFC 5227, section 3) for each IPv4
// address of a link.
func announce(space, link string, addresses []netip.Addr) error {
	return namespace.Do(space, func() error {
		i, err := net.InterfaceByName(link)
		if err != nil {
			return fmt.Errorf("announcing addresses: %w", err)
		}
		arp := uint16(unix.ETH_P_ARP)
		swapped := arp<<8 | arp>>8
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, int(swapped))
		if err != nil {
			return fmt.Errorf("announcing addresses: %w", err)
		}
		defer unix.Close(fd)
		to := &unix.SockaddrLinklayer{Protocol: swapped, Ifindex: i.Index, Halen: 6, Addr: [8]byte{255, 255, 255, 255, 255, 255}}
		for _, a := range addresses {
			if a.Is4() {
				err = errors.Join(err, unix.Sendto(fd, gratuitous(i.HardwareAddr, a), 0, to))
			}
		}
		return err
	})
}

func gratuitous(mac net.HardwareAddr, a netip.Addr) []byte {
	p := binary.BigEndian.AppendUint16(nil, 1)                   // Ethernet
	p = binary.BigEndian.AppendUint16(p, unix.ETH_P_IP)          // IPv4
	p = append(p, 6, 4, 0, 1)                                    // address lengths, request
	p = append(append(p, mac...), a.AsSlice()...)                // sender
	return append(append(p, make([]byte, 6)...), a.AsSlice()...) // target
}
