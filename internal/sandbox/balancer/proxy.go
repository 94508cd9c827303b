package balancer

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// proxyHeader returns the header that tells a member the client's address, in the PROXY protocol
// (haproxy.org, proxy-protocol.txt, sections 2.1 and 2.2); nil for a pool with another protocol.
func proxyHeader(protocol string, from, to netip.AddrPort) []byte {
	v4 := from.Addr().Is4() && to.Addr().Is4()
	switch protocol {
	case "PROXY":
		family := "TCP6"
		if v4 {
			family = "TCP4"
		}
		return fmt.Appendf(nil, "PROXY %s %s %s %d %d\r\n", family, from.Addr(), to.Addr(), from.Port(), to.Port())
	case "PROXYV2":
		const versionAndCommand, tcp4, tcp6 = 0x21, 0x11, 0x21
		h := append([]byte("\r\n\r\n\x00\r\nQUIT\n"), versionAndCommand)
		src, dst, family := from.Addr().AsSlice(), to.Addr().AsSlice(), byte(tcp6)
		if v4 {
			family = tcp4
		}
		h = binary.BigEndian.AppendUint16(append(h, family), uint16(len(src)+len(dst)+4))
		h = append(append(h, src...), dst...)
		return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(h, from.Port()), to.Port())
	}
	return nil
}
