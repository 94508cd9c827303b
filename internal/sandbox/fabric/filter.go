package fabric

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// How a packet finds the rules of its ports: the bridge table records in the packet's mark through
// which port the packet came (upper half) and through which it leaves (lower half), by the numbers
// of the ports' links. With bridge-nf-call-iptables the packet then passes the inet table, which
// has connection tracking and jumps by mark. (Connection tracking in the bridge family itself is a
// kernel option that few have.)
const (
	fromMask = 0xffff0000
	toMask   = 0x0000ffff
)

// tables are the tables of the fabric in a network's namespace. The maps give the chain of a port
// for the number of its link or a mark.
type tables struct {
	bridge, inet     *nftables.Table
	from, to         *nftables.Set // bridge: by link
	egress, ingress  *nftables.Set // inet: by mark
	prerouting, pass *nftables.Chain
	forward          *nftables.Chain
}

func networkTables() tables {
	t := tables{
		bridge: &nftables.Table{Name: table, Family: nftables.TableFamilyBridge},
		inet:   &nftables.Table{Name: table, Family: nftables.TableFamilyINet},
	}
	byKey := func(in *nftables.Table, id uint32, name string, key nftables.SetDatatype) *nftables.Set {
		return &nftables.Set{Table: in, ID: id, Name: name, IsMap: true, KeyType: key, DataType: nftables.TypeVerdict}
	}
	t.from, t.to = byKey(t.bridge, 1, "from", nftables.TypeIFIndex), byKey(t.bridge, 2, "to", nftables.TypeIFIndex)
	t.egress, t.ingress = byKey(t.inet, 3, "egress", nftables.TypeMark), byKey(t.inet, 4, "ingress", nftables.TypeMark)
	accept := nftables.ChainPolicyAccept
	t.prerouting = &nftables.Chain{Name: "prerouting", Table: t.bridge, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookPrerouting, Priority: nftables.ChainPriorityRef(-300), Policy: &accept}
	// Before the bridge hands the packet to the inet table.
	t.pass = &nftables.Chain{Name: "forward", Table: t.bridge, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityRef(-200), Policy: &accept}
	t.forward = &nftables.Chain{Name: "forward", Table: t.inet, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityFilter, Policy: &accept}
	return t
}

// baseRules writes the rules that all ports of a network share.
func baseRules(space string, mac net.HardwareAddr) error {
	return change(space, func(c *nftables.Conn) error {
		t := networkTables()
		c.AddTable(t.bridge)
		c.AddTable(t.inet)
		for _, m := range []*nftables.Set{t.from, t.to, t.egress, t.ingress} {
			if err := c.AddSet(m, nil); err != nil {
				return err
			}
		}
		rules := map[*nftables.Chain][]expression{
			t.prerouting: {join(expression{&expr.Meta{Key: expr.MetaKeyIIF, Register: 1}}, toChain(t.from)), metadataRule(mac)},
			t.pass:       {join(expression{&expr.Meta{Key: expr.MetaKeyOIF, Register: 1}}, toChain(t.to))},
			t.forward: {
				join(ctState(expr.CtStateBitESTABLISHED|expr.CtStateBitRELATED), verdict(expr.VerdictAccept)),
				join(ctState(expr.CtStateBitINVALID), verdict(expr.VerdictDrop)),
				join(getMark(), masked(fromMask, 0), toChain(t.egress)),
				join(getMark(), masked(toMask, 0), toChain(t.ingress)),
			},
		}
		for chain, list := range rules {
			c.AddChain(chain)
			c.FlushChain(chain)
			for _, r := range list {
				c.AddRule(&nftables.Rule{Table: chain.Table, Chain: chain, Exprs: r})
			}
		}
		return nil
	})
}

// ApplyFilter sets which traffic a port lets through. For a port that is not plugged yet, the
// filter is kept until it is.
func (f *Fabric) ApplyFilter(_ context.Context, filter machine.Filter) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.filter(filter); err != nil {
		return fmt.Errorf("applying filter of port %s: %w", filter.Port.ID, err)
	}
	f.filters[filter.Port.ID] = filter
	return nil
}

// DeleteFilter forgets the filter of a port. Its rules belong to a link that has been removed, and
// the numbers of links are not used again.
func (f *Fabric) DeleteFilter(_ context.Context, portID string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	filter, ok := f.filters[portID]
	delete(f.filters, portID)
	if !ok {
		return nil
	}
	filter.Disabled = true
	if err := f.filter(filter); err != nil {
		return fmt.Errorf("removing filter of port %s: %w", portID, err)
	}
	return nil
}

func (f *Fabric) filter(filter machine.Filter) error {
	space := f.Space(filter.Port.NetworkID)
	if !namespace.Exists(space) {
		return nil
	}
	var link netlink.Link
	err := inside(space, func(h *netlink.Handle) (err error) {
		link, err = h.LinkByName(tap(filter.Port.ID))
		return err
	})
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return change(space, func(c *nftables.Conn) error {
		last := lastMap
		p := portRules{Conn: c, tables: networkTables(), filter: filter, link: uint32(link.Attrs().Index), sets: &last}
		return p.write()
	})
}

// portRules writes the chains of one port.
type portRules struct {
	*nftables.Conn
	tables
	filter machine.Filter
	link   uint32
	// sets is the number of the last set of this change. The library would number the sets with a
	// variable that is not safe for concurrent use.
	sets *uint32
}

// lastMap is the highest number of the maps in networkTables.
const lastMap uint32 = 4

func (p portRules) chain(t *nftables.Table, name string) *nftables.Chain {
	c := p.AddChain(&nftables.Chain{Name: name + strconv.Itoa(int(p.link)), Table: t})
	p.FlushChain(c)
	return c
}

func (p portRules) rule(c *nftables.Chain, parts ...expression) {
	p.AddRule(&nftables.Rule{Table: c.Table, Chain: c, Exprs: join(parts...)})
}

// lead adds an element to a map that jumps to a chain.
func (p portRules) lead(m *nftables.Set, key uint32, c *nftables.Chain) error {
	return p.SetAddElements(m, []nftables.SetElement{{Key: native(key),
		VerdictData: &expr.Verdict{Kind: expr.VerdictJump, Chain: c.Name}}})
}

func (p portRules) write() error {
	from, to := p.chain(p.bridge, "from-"), p.chain(p.bridge, "to-")
	egress, ingress := p.chain(p.inet, "egress-"), p.chain(p.inet, "ingress-")
	if !p.filter.Disabled {
		if err := p.senders(from); err != nil {
			return err
		}
		p.rule(from, getMark(), masked(toMask, p.link<<16), setMark())
		p.rule(to, getMark(), masked(fromMask, p.link), setMark())
		if err := p.allow(egress, false); err != nil {
			return err
		}
		if err := p.allow(ingress, true); err != nil {
			return err
		}
	}
	for _, l := range []struct {
		m   *nftables.Set
		key uint32
		c   *nftables.Chain
	}{{p.from, p.link, from}, {p.to, p.link, to}, {p.egress, p.link << 16, egress}, {p.ingress, p.link, ingress}} {
		if err := p.lead(l.m, l.key, l.c); err != nil {
			return err
		}
	}
	return nil
}

// senders drops packets from addresses that are not the port's: it checks the MAC first, then
// allows each address with any of those MACs.
func (p portRules) senders(c *nftables.Chain) error {
	macs := []nftables.SetElement{}
	var addresses []netip.Prefix
	seen := map[string]bool{}
	add := func(text string) error {
		mac, err := net.ParseMAC(text)
		if err == nil && !seen[mac.String()] {
			seen[mac.String()] = true
			macs = append(macs, nftables.SetElement{Key: mac})
			addresses = append(addresses, linkLocal(mac))
		}
		return err
	}
	if err := add(p.filter.Port.MAC); err != nil {
		return err
	}
	for _, a := range p.filter.Port.Addresses {
		addresses = append(addresses, netip.PrefixFrom(a.Prefix.Addr(), a.Prefix.Addr().BitLen()))
	}
	for _, pair := range p.filter.AllowedPairs {
		addresses = append(addresses, pair.Prefix)
		if pair.MAC != "" {
			if err := add(pair.MAC); err != nil {
				return err
			}
		}
	}
	// Before it has an address a machine asks from none.
	addresses = append(addresses, netip.MustParsePrefix("0.0.0.0/32"), netip.MustParsePrefix("::/128"))
	own, err := p.anonymous(c.Table, nftables.TypeEtherAddr, false, macs)
	if err != nil {
		return err
	}
	p.rule(c, payload(expr.PayloadBaseLLHeader, 6, 6), in(own, true), verdict(expr.VerdictDrop))
	for _, f := range []family{ip4(), ip6()} {
		set, err := p.anonymous(c.Table, f.set, true, intervals(addresses, f.size == 16))
		if err != nil {
			return err
		}
		p.rule(c, metaIs(expr.MetaKeyPROTOCOL, f.ether), payload(expr.PayloadBaseNetworkHeader, f.src, f.size), in(set, true), verdict(expr.VerdictDrop))
	}
	set, err := p.anonymous(c.Table, nftables.TypeIPAddr, true, intervals(addresses, false))
	if err != nil {
		return err
	}
	// The sender's address in ARP (RFC 826) is at 14.
	p.rule(c, metaIs(expr.MetaKeyPROTOCOL, []byte{8, 6}), payload(expr.PayloadBaseNetworkHeader, 14, 4), in(set, true), verdict(expr.VerdictDrop))
	return nil
}

func (p portRules) anonymous(t *nftables.Table, key nftables.SetDatatype, interval bool, elements []nftables.SetElement) (*nftables.Set, error) {
	*p.sets++
	s := &nftables.Set{Table: t, ID: *p.sets, Name: "__set%d", Anonymous: true, Constant: true, Interval: interval, KeyType: key}
	return s, p.AddSet(s, elements)
}

// linkLocal returns the IPv6 address that a machine derives from its MAC (RFC 4291, appendix A).
func linkLocal(mac net.HardwareAddr) netip.Prefix {
	a := [16]byte{0: 0xfe, 1: 0x80, 8: mac[0] ^ 2, 9: mac[1], 10: mac[2], 11: 0xff, 12: 0xfe, 13: mac[3], 14: mac[4], 15: mac[5]}
	return netip.PrefixFrom(netip.AddrFrom16(a), 128)
}

// allow writes the rules of one direction: packets that match pass, the rest is dropped. Answers
// have passed before, as parts of known connections.
func (p portRules) allow(c *nftables.Chain, ingress bool) error {
	p.rule(c, metaIs(expr.MetaKeyNFPROTO, []byte{unix.NFPROTO_IPV6}), metaIs(expr.MetaKeyL4PROTO, []byte{unix.IPPROTO_ICMPV6}),
		payload(expr.PayloadBaseTransportHeader, 0, 1), expression{&expr.Range{Op: expr.CmpOpEq, Register: 1,
			FromData: []byte{133}, ToData: []byte{136}}}, verdict(expr.VerdictReturn)) // neighbour discovery, RFC 4861
	for i, r := range p.filter.Rules {
		if r.Ingress != ingress {
			continue
		}
		match, err := p.match(c, r)
		if err != nil {
			return fmt.Errorf("rule %d: %w", i, err)
		}
		if match != nil {
			p.rule(c, match, verdict(expr.VerdictReturn))
		}
	}
	p.rule(c, verdict(expr.VerdictDrop))
	return nil
}
