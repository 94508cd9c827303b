package fabric

import (
	"net/netip"
	"os"
	"strings"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// portUnreachable is a code of ICMP (RFC 792).
const portUnreachable = 3

// isolated reports whether the host drops packets to destinations beyond it.
func (f *Fabric) isolated() bool {
	var forward []byte
	err := namespace.Do(f.Host, func() (err error) {
		forward, err = os.ReadFile("/proc/sys/net/ipv4/ip_forward")
		return err
	})
	return err == nil && strings.TrimSpace(string(forward)) == "0"
}

// refuseNames makes a router answer at once that a name server outside is not reachable, if the
// host would not answer: otherwise a machine waits long for each name, even while it boots.
func (f *Fabric) refuseNames(space string, r machine.Router) error {
	return change(space, func(c *nftables.Conn) error {
		t := &nftables.Table{Name: table + "-names", Family: nftables.TableFamilyIPv4}
		c.AddTable(t)
		c.DelTable(t)
		if r.Gateway == nil || !f.isolated() {
			return nil
		}
		c.AddTable(t)
		chain := c.AddChain(&nftables.Chain{Name: "forward", Table: t, Type: nftables.ChainTypeFilter,
			Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityFilter})
		near := &nftables.Set{Table: t, ID: 1, Name: "near", Interval: true, KeyType: nftables.TypeIPAddr}
		if err := c.AddSet(near, intervals(f.prefixes(r.Gateway.NetworkID), false)); err != nil {
			return err
		}
		for _, proto := range []byte{unix.IPPROTO_UDP, unix.IPPROTO_TCP} {
			c.AddRule(&nftables.Rule{Table: t, Chain: chain, Exprs: join(
				metaIs(expr.MetaKeyOIFNAME, ifName(gatewayName(r.Gateway.ID))), metaIs(expr.MetaKeyL4PROTO, []byte{proto}),
				payload(expr.PayloadBaseTransportHeader, 2, 2), cmp(expr.CmpOpEq, port(53)),
				payload(expr.PayloadBaseNetworkHeader, 16, 4), in(near, true),
				expression{&expr.Reject{Type: unix.NFT_REJECT_ICMP_UNREACH, Code: portUnreachable}})})
		}
		return nil
	})
}

func (f *Fabric) prefixes(networkID string) []netip.Prefix {
	var all []netip.Prefix
	for _, s := range f.networks[networkID].Subnets {
		all = append(all, s.Prefix)
	}
	return all
}
