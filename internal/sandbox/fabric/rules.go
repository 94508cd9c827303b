package fabric

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// expression is a part of an nftables rule.
type expression = []expr.Any

// table is the name of all tables of the fabric.
const table = "slipway"

// change sends what f adds to the nftables of a namespace, all or nothing.
func change(space string, f func(c *nftables.Conn) error) error {
	ns, err := netns.GetFromPath(space)
	if err != nil {
		return fmt.Errorf("opening network namespace: %w", err)
	}
	defer ns.Close()
	c, err := nftables.New(nftables.WithNetNSFd(int(ns)))
	if err != nil {
		return fmt.Errorf("opening nftables: %w", err)
	}
	if err := f(c); err != nil {
		return fmt.Errorf("writing rules: %w", err)
	}
	if err := c.Flush(); err != nil {
		return fmt.Errorf("writing rules: %w", err)
	}
	return nil
}

func join(parts ...expression) expression { return slices.Concat(parts...) }

func verdict(kind expr.VerdictKind) expression { return expression{&expr.Verdict{Kind: kind}} }

func metaIs(key expr.MetaKey, data []byte) expression {
	return expression{&expr.Meta{Key: key, Register: 1}, &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: data}}
}

func payload(base expr.PayloadBase, offset, length uint32) expression {
	return expression{&expr.Payload{DestRegister: 1, Base: base, Offset: offset, Len: length}}
}

func cmp(op expr.CmpOp, data []byte) expression {
	return expression{&expr.Cmp{Op: op, Register: 1, Data: data}}
}

func in(s *nftables.Set, invert bool) expression {
	return expression{&expr.Lookup{SourceRegister: 1, SetName: s.Name, SetID: s.ID, Invert: invert}}
}

// toChain jumps to the chain that a map has for the value of register 1.
func toChain(m *nftables.Set) expression {
	return expression{&expr.Lookup{SourceRegister: 1, DestRegister: 0, IsDestRegSet: true, SetName: m.Name, SetID: m.ID}}
}

func masked(mask, xor uint32) expression {
	return expression{&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: native(mask), Xor: native(xor)}}
}

func getMark() expression { return expression{&expr.Meta{Key: expr.MetaKeyMARK, Register: 1}} }

func setMark() expression {
	return expression{&expr.Meta{Key: expr.MetaKeyMARK, SourceRegister: true, Register: 1}}
}

// ctState matches connections in any of the states.
func ctState(states uint32) expression { return ct(expr.CtKeySTATE, states) }

func ct(key expr.CtKey, bits uint32) expression {
	return join(expression{&expr.Ct{Key: key, Register: 1}}, masked(bits, 0), cmp(expr.CmpOpNeq, native(0)))
}

func native(n uint32) []byte { return binaryutil.NativeEndian.PutUint32(n) }

func port(n int) []byte { return binary.BigEndian.AppendUint16(nil, uint16(n)) }

func ifName(name string) []byte {
	b := make([]byte, unix.IFNAMSIZ)
	copy(b, name)
	return b
}

// family describes one version of IP for nftables.
type family struct {
	proto          byte
	ether          []byte
	size, src, dst uint32
	set            nftables.SetDatatype
}

func ip4() family {
	return family{unix.NFPROTO_IPV4, []byte{8, 0}, 4, 12, 16, nftables.TypeIPAddr}
}

func ip6() family {
	return family{unix.NFPROTO_IPV6, []byte{0x86, 0xdd}, 16, 8, 24, nftables.TypeIP6Addr}
}

// intervals turns prefixes of one family into elements of an interval set: two prefixes are either
// nested or disjoint, so leaving out those inside others is enough.
func intervals(prefixes []netip.Prefix, v6 bool) []nftables.SetElement {
	var mine []netip.Prefix
	for _, p := range prefixes {
		if p.IsValid() && p.Addr().Is6() == v6 {
			mine = append(mine, p.Masked())
		}
	}
	slices.SortFunc(mine, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})
	var elements []nftables.SetElement
	var last netip.Prefix
	for _, p := range mine {
		if last.IsValid() && last.Overlaps(p) {
			continue
		}
		last = p
		start, end := p.Addr().AsSlice(), after(p)
		if n := len(elements); n > 0 && elements[n-1].IntervalEnd && slices.Equal(elements[n-1].Key, start) {
			elements = elements[:n-1] // they touch: one interval
		} else {
			elements = append(elements, nftables.SetElement{Key: start})
		}
		if end != nil {
			elements = append(elements, nftables.SetElement{Key: end, IntervalEnd: true})
		}
	}
	return elements
}

// after returns the first address after a prefix, or nil if there is none.
func after(p netip.Prefix) []byte {
	b := p.Addr().AsSlice()
	bits := p.Bits()
	for i := range b {
		host := max(0, min(8, 8*(i+1)-bits))
		b[i] |= byte(1<<host - 1)
	}
	last, _ := netip.AddrFromSlice(b)
	if next := last.Next(); next.IsValid() {
		return next.AsSlice()
	}
	return nil
}
