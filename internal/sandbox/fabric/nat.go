package fabric

import (
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

const (
	// fromOutside marks packets that came in through the gateway.
	fromOutside = 2
	// statusDNAT is IPS_DST_NAT (linux/netfilter/nf_conntrack_common.h).
	statusDNAT = 1 << 5
)

// translate writes the router's NAT: floating IPs in both directions, and the router's own address
// for the rest when it has SNAT. The rules of a PassOn precede the rule for the floating IP's
// address.
func (f *Fabric) translate(space string, r machine.Router) error {
	return change(space, func(c *nftables.Conn) error {
		t := &nftables.Table{Name: table, Family: nftables.TableFamilyIPv4}
		c.AddTable(t)
		c.DelTable(t) // both in one: there is no moment without rules
		c.AddTable(t)
		if r.Gateway == nil {
			return nil
		}
		qg := ifName(gatewayName(r.Gateway.ID))
		chain := func(name string, kind nftables.ChainType, hook *nftables.ChainHook, p *nftables.ChainPriority) *nftables.Chain {
			return c.AddChain(&nftables.Chain{Name: name, Table: t, Type: kind, Hooknum: hook, Priority: p})
		}
		rule := func(chain *nftables.Chain, parts ...expression) {
			c.AddRule(&nftables.Rule{Table: t, Chain: chain, Exprs: join(parts...)})
		}
		mark := chain("mark", nftables.ChainTypeFilter, nftables.ChainHookPrerouting, nftables.ChainPriorityMangle)
		rule(mark, metaIs(expr.MetaKeyIIFNAME, qg), expression{&expr.Immediate{Register: 1, Data: native(fromOutside)}}, setMark())
		in := chain("in", nftables.ChainTypeNAT, nftables.ChainHookPrerouting, nftables.ChainPriorityNATDest)
		own := chain("own", nftables.ChainTypeNAT, nftables.ChainHookOutput, nftables.ChainPriorityNATDest)
		out := chain("out", nftables.ChainTypeNAT, nftables.ChainHookPostrouting, nftables.ChainPriorityNATSource)
		// Between inside networks only what came to a floating IP is changed.
		rule(out, expression{&expr.Meta{Key: expr.MetaKeyOIFNAME, Register: 1}}, cmp(expr.CmpOpNeq, qg),
			expression{&expr.Ct{Key: expr.CtKeySTATUS, Register: 1}}, masked(statusDNAT, 0), cmp(expr.CmpOpEq, native(0)),
			verdict(expr.VerdictAccept))
		for _, tr := range r.Translations {
			if !tr.Floating.Is4() || !tr.Fixed.Is4() {
				continue
			}
			members, err := f.membersOf(r, tr)
			if err != nil {
				return err
			}
			for _, m := range members {
				rule(in, m)
			}
			to := payload(expr.PayloadBaseNetworkHeader, 16, 4)
			rule(in, to, cmp(expr.CmpOpEq, tr.Floating.AsSlice()), nat(expr.NATTypeDestNAT, tr.Fixed))
			rule(own, to, cmp(expr.CmpOpEq, tr.Floating.AsSlice()), nat(expr.NATTypeDestNAT, tr.Fixed))
			// What comes from outside keeps its sender.
			rule(out, getMark(), cmp(expr.CmpOpNeq, native(fromOutside)), payload(expr.PayloadBaseNetworkHeader, 12, 4),
				cmp(expr.CmpOpEq, tr.Fixed.AsSlice()), nat(expr.NATTypeSourceNAT, tr.Floating))
		}
		if a, ok := firstIPv4(r.Gateway); ok && r.SNAT {
			rule(out, metaIs(expr.MetaKeyOIFNAME, qg), nat(expr.NATTypeSourceNAT, a))
			// Answers of a floating IP to its own network must come back here.
			rule(out, getMark(), cmp(expr.CmpOpNeq, native(fromOutside)), ct(expr.CtKeySTATUS, statusDNAT), nat(expr.NATTypeSourceNAT, a))
		}
		return nil
	})
}

func firstIPv4(p *machine.Port) (netip.Addr, bool) {
	for _, a := range p.Addresses {
		if a.Prefix.Addr().Is4() {
			return a.Prefix.Addr(), true
		}
	}
	return netip.Addr{}, false
}

func nat(kind expr.NATType, to netip.Addr) expression {
	return expression{&expr.Immediate{Register: 1, Data: to.AsSlice()},
		&expr.NAT{Type: kind, Family: unix.NFPROTO_IPV4, RegAddrMin: 1}}
}
