package fabric

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// PassOn says which connections to a floating IP of an address the routers pass on: each goes to
// one of the members of its port, and keeps the client's address.
type PassOn struct {
	NetworkID string
	Address   netip.Addr
	Ports     []PassOnPort
}

// PassOnPort is one port of a PassOn. Without members, and for clients outside AllowedCIDRs, the
// connection goes to the address itself.
type PassOnPort struct {
	// Protocol is a name that Neutron knows, such as "tcp".
	Protocol     string
	Port         int
	AllowedCIDRs []netip.Prefix
	Members      []netip.AddrPort
}

// PassOn sets which connections the routers of an address pass on; without ports, none. Connections
// that exist keep their member.
func (f *Fabric) PassOn(_ context.Context, id string, p PassOn) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.passOns[id]
	if len(p.Ports) == 0 {
		delete(f.passOns, id)
	} else {
		f.passOns[id] = p
	}
	var err error
	for _, r := range f.routers {
		space := f.space(rtrSpace, r.ID)
		if (translates(r, before) || translates(r, p)) && namespace.Exists(space) {
			err = errors.Join(err, f.translate(space, r))
		}
	}
	if err != nil {
		return fmt.Errorf("passing on what comes to %s: %w", p.Address, err)
	}
	return nil
}

// translates reports whether a router has a floating IP for the address.
func translates(r machine.Router, p PassOn) bool {
	return slices.ContainsFunc(r.Translations, func(t machine.Translation) bool { return leads(r, t, p) })
}

// leads reports whether a translation of a router leads to the address: other networks can have the
// same address.
func leads(r machine.Router, t machine.Translation, p PassOn) bool {
	return t.Fixed == p.Address && slices.ContainsFunc(r.Interfaces, func(i machine.Port) bool { return i.NetworkID == p.NetworkID })
}

// membersOf returns the rules that pass connections to a translation on to members.
func (f *Fabric) membersOf(r machine.Router, t machine.Translation) ([]expression, error) {
	var rules []expression
	for _, p := range f.passOns {
		if !leads(r, t, p) {
			continue
		}
		for _, of := range p.Ports {
			number, err := protocol(of.Protocol)
			if err != nil {
				return nil, err
			}
			to := join(payload(expr.PayloadBaseNetworkHeader, 16, 4), cmp(expr.CmpOpEq, t.Floating.AsSlice()),
				metaIs(expr.MetaKeyL4PROTO, []byte{number}),
				payload(expr.PayloadBaseTransportHeader, 2, 2), cmp(expr.CmpOpEq, port(of.Port)))
			for _, from := range senders(of.AllowedCIDRs) {
				rules = append(rules, toMembers(join(to, from), of.Members)...)
			}
		}
	}
	return rules, nil
}

// senders returns expressions that match the clients that may connect: all clients, or those of a
// list.
func senders(allowed []netip.Prefix) []expression {
	if len(allowed) == 0 {
		return []expression{nil}
	}
	var from []expression
	for _, p := range allowed {
		if p.Addr().Is4() {
			mask := netip.PrefixFrom(netip.AddrFrom4([4]byte{255, 255, 255, 255}), p.Bits()).Masked().Addr().AsSlice()
			from = append(from, join(payload(expr.PayloadBaseNetworkHeader, 12, 4),
				expression{&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: mask, Xor: make([]byte, 4)}},
				cmp(expr.CmpOpEq, p.Masked().Addr().AsSlice())))
		}
	}
	return from
}

// toMembers returns a rule for each member; each rule takes one of the members that are left, all
// with the same chance.
func toMembers(what expression, members []netip.AddrPort) []expression {
	var rules []expression
	for i, m := range members {
		chance := expression{&expr.Numgen{Register: 1, Modulus: uint32(len(members) - i), Type: unix.NFT_NG_RANDOM},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: native(0)}}
		rules = append(rules, join(what, chance, expression{
			&expr.Immediate{Register: 1, Data: m.Addr().AsSlice()},
			&expr.Immediate{Register: 2, Data: port(int(m.Port()))},
			&expr.NAT{Type: expr.NATTypeDestNAT, Family: unix.NFPROTO_IPV4, RegAddrMin: 1, RegProtoMin: 2}}))
	}
	return rules
}
