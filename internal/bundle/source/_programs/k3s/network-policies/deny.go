package main

import (
	"net/netip"

	"github.com/coreos/go-iptables/iptables"
)

// They are in a table that comes before "filter", where policies accept packets.
const table, chain, forwarded = "mangle", "SLIPWAY-DENY", "FORWARD"

// deny has the packets of pods to some addresses dropped. Those of the node, and of pods in its
// network, are not forwarded.
func (s *settings) deny() error {
	for _, family := range s.families() {
		filter, err := iptables.New(iptables.IPFamily(family), iptables.Timeout(10))
		if err != nil {
			return err
		}
		if err := filter.ClearChain(table, chain); err != nil { // makes it, too
			return err
		}
		for _, p := range s.denied {
			if of(p) == family {
				if err := filter.Append(table, chain, "-d", p.String(), "-j", "DROP"); err != nil {
					return err
				}
			}
		}
		if err := filter.AppendUnique(table, forwarded, "-m", "comment", "--comment", "what pods do not reach", "-j", chain); err != nil {
			return err
		}
	}
	return nil
}

func (s *settings) families() (all []iptables.Protocol) {
	if s.EnableIPv4 {
		all = append(all, iptables.ProtocolIPv4)
	}
	if s.EnableIPv6 {
		all = append(all, iptables.ProtocolIPv6)
	}
	return all
}

func of(p netip.Prefix) iptables.Protocol {
	if p.Addr().Is4() {
		return iptables.ProtocolIPv4
	}
	return iptables.ProtocolIPv6
}
