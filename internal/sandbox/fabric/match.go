package fabric

import (
	"fmt"
	"strconv"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

// protocols are the names of protocols that Neutron knows (API reference, security group rules).
func protocols() map[string]byte {
	return map[string]byte{
		"ah": unix.IPPROTO_AH, "dccp": unix.IPPROTO_DCCP, "egp": unix.IPPROTO_EGP, "esp": unix.IPPROTO_ESP,
		"gre": unix.IPPROTO_GRE, "icmp": unix.IPPROTO_ICMP, "icmpv6": unix.IPPROTO_ICMPV6, "ipv6-icmp": unix.IPPROTO_ICMPV6,
		"igmp": unix.IPPROTO_IGMP, "ipip": unix.IPPROTO_IPIP, "ospf": 89, "pgm": 113, "rsvp": unix.IPPROTO_RSVP,
		"sctp": unix.IPPROTO_SCTP, "tcp": unix.IPPROTO_TCP, "udp": unix.IPPROTO_UDP, "udplite": unix.IPPROTO_UDPLITE, "vrrp": 112,
	}
}

func protocol(name string) (byte, error) {
	if n, ok := protocols()[name]; ok {
		return n, nil
	}
	n, err := strconv.ParseUint(name, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("protocol %q is not known", name)
	}
	return byte(n), nil
}

// match returns the condition of a rule; nil when nothing can match it.
func (p portRules) match(c *nftables.Chain, r machine.Rule) (expression, error) {
	f := ip4()
	if r.IPv6 {
		f = ip6()
	}
	m := metaIs(expr.MetaKeyNFPROTO, []byte{f.proto})
	if name := r.Protocol; name != "" && name != "any" {
		if r.IPv6 && name == "icmp" { // Neutron takes it as the protocol of the rule's family
			name = "icmpv6"
		}
		n, err := protocol(name)
		if err != nil {
			return nil, err
		}
		m = join(m, metaIs(expr.MetaKeyL4PROTO, []byte{n}), ports(n, r))
	}
	if r.Remotes == nil {
		return m, nil
	}
	return p.remotes(c, m, f, r)
}

// ports matches destination ports, or type and code of ICMP.
func ports(proto byte, r machine.Rule) expression {
	switch proto {
	case unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6:
		var m expression
		if r.PortMin >= 0 {
			m = join(payload(expr.PayloadBaseTransportHeader, 0, 1), cmp(expr.CmpOpEq, []byte{byte(r.PortMin)}))
		}
		if r.PortMax >= 0 {
			m = join(m, payload(expr.PayloadBaseTransportHeader, 1, 1), cmp(expr.CmpOpEq, []byte{byte(r.PortMax)}))
		}
		return m
	case unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_SCTP, unix.IPPROTO_DCCP, unix.IPPROTO_UDPLITE:
		if r.PortMin <= 0 && r.PortMax <= 0 {
			return nil
		}
		return join(payload(expr.PayloadBaseTransportHeader, 2, 2), expression{&expr.Range{Op: expr.CmpOpEq, Register: 1,
			FromData: port(r.PortMin), ToData: port(r.PortMax)}})
	}
	return nil
}

// remotes adds the addresses of the other side: a network, or the addresses of the members of a
// group. A group without members matches nothing.
func (p portRules) remotes(c *nftables.Chain, m expression, f family, r machine.Rule) (expression, error) {
	for _, remote := range r.Remotes {
		if remote.IsValid() && remote.Bits() == 0 && remote.Addr().Is6() == r.IPv6 {
			return m, nil
		}
	}
	elements := intervals(r.Remotes, r.IPv6)
	if len(elements) == 0 {
		return nil, nil
	}
	set, err := p.anonymous(c.Table, f.set, true, elements)
	if err != nil {
		return nil, err
	}
	offset := f.dst
	if r.Ingress {
		offset = f.src
	}
	return join(m, payload(expr.PayloadBaseNetworkHeader, offset, f.size), in(set, false)), nil
}
