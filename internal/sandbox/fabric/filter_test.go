package fabric_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
)

// inside runs do with a netlink handle of a namespace.
func (w world) inside(space string, do func(h *netlink.Handle, l netlink.Link)) {
	w.Helper()
	ns, err := netns.GetFromPath(space)
	w.must(err)
	defer ns.Close()
	h, err := netlink.NewHandleAt(ns)
	w.must(err)
	defer h.Close()
	l, err := h.LinkByName("eth0")
	w.must(err)
	do(h, l)
}

func TestFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.must(w.ApplyNetwork(ctx, network("one", "10.0.0.0/24", false, "10.0.0.1")))
	portA := port("aaaaaaaa-aaa", "one", macA, "10.0.0.10/24", "")
	portB := port("bbbbbbbb-bbb", "one", macB, "10.0.0.11/24", "")
	portC := port("cccccccc-ccc", "one", macC, "10.0.0.12/24", "")
	a, b, c := w.guest("a", portA), w.guest("b", portB), w.guest("c", portC)
	w.check("no filter yet", a, "10.0.0.11:80", "10.0.0.10")

	out := machine.Rule{PortMin: 0, PortMax: 0}
	in80 := machine.Rule{Ingress: true, Protocol: "tcp", PortMin: 80, PortMax: 80}
	apply := func(p machine.Port, pairs []machine.Pair, rules ...machine.Rule) {
		t.Helper()
		w.must(w.ApplyFilter(ctx, machine.Filter{Port: p, AllowedPairs: pairs, Rules: rules}))
	}
	apply(portA, nil, out)
	apply(portB, nil, out)
	w.check("no rule lets it in", a, "10.0.0.11:80", "")
	apply(portB, nil, out, in80)
	w.check("a rule lets it in, and the answer out", a, "10.0.0.11:80", "10.0.0.10")
	w.check("another port of it", a, "10.0.0.11:81", "")
	w.check("not the other way", b, "10.0.0.10:80", "")
	w.check("out to one without a filter", a, "10.0.0.12:80", "10.0.0.10")
	apply(portA, nil)
	w.check("no rule lets it out", a, "10.0.0.11:80", "")
	apply(portA, nil, machine.Rule{Protocol: "tcp", PortMin: 1, PortMax: 80, Remotes: []netip.Prefix{prefix("10.0.0.11/32"), prefix("10.9.0.0/16")}})
	w.check("out to a network", a, "10.0.0.11:80", "10.0.0.10")
	w.check("out to another", a, "10.0.0.12:80", "")

	group := in80
	group.Remotes = []netip.Prefix{}
	apply(portB, nil, out, group)
	w.check("a group without members", c, "10.0.0.11:80", "")
	group.Remotes = []netip.Prefix{prefix("10.0.0.12/32")}
	apply(portB, nil, out, group)
	w.check("a member of the group", c, "10.0.0.11:80", "10.0.0.12")
	w.check("not a member", a, "10.0.0.11:80", "")

	apply(portB, nil, out, in80)
	w.inside(c, func(h *netlink.Handle, l netlink.Link) {
		addr, _ := netlink.ParseAddr("10.0.0.77/24")
		w.must(h.AddrDel(l, &netlink.Addr{IPNet: mustNet("10.0.0.12/24")}))
		w.must(h.AddrAdd(l, addr))
	})
	w.check("a foreign address without a filter", c, "10.0.0.11:80", "10.0.0.77")
	apply(portC, nil, out)
	w.check("a foreign address", c, "10.0.0.11:80", "")
	apply(portC, []machine.Pair{{Prefix: prefix("10.0.0.77/32")}}, out)
	w.check("a foreign address that is allowed", c, "10.0.0.11:80", "10.0.0.77")
	w.inside(c, func(h *netlink.Handle, l netlink.Link) {
		w.must(h.LinkSetHardwareAddr(l, []byte{0xfa, 0x16, 0x3e, 0, 0, 0x99}))
	})
	w.check("a foreign MAC", c, "10.0.0.11:80", "")
	w.must(w.ApplyFilter(ctx, machine.Filter{Port: portC, Disabled: true}))
	w.check("a foreign MAC without port security", c, "10.0.0.11:80", "10.0.0.77")
	w.must(w.DeleteFilter(ctx, portB.ID))
	w.check("after the filter is gone", a, "10.0.0.11:80", "10.0.0.10")
}

func mustNet(s string) *net.IPNet { n, _ := netlink.ParseIPNet(s); return n }

func TestFilterErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.ApplyNetwork(t.Context(), network("one", "10.0.0.0/24", false, "10.0.0.1")))
	p := port("aaaaaaaa-aaa", "one", macA, "10.0.0.10/24", "")
	space := w.guest("a", p)
	other := port("bbbbbbbb-bbb", "one", macB, "10.0.0.11/24", "")
	b := w.guest("b", other)
	in := machine.Rule{Ingress: true, Protocol: "tcp"}
	w.must(w.ApplyFilter(t.Context(), machine.Filter{Port: p, Rules: []machine.Rule{in}}))
	if err := w.ApplyFilter(t.Context(), machine.Filter{Port: p, Rules: []machine.Rule{{Protocol: "quux", Ingress: true}}}); err == nil {
		t.Error("a protocol that there is not is accepted")
	}
	w.check("after an error the old rules hold", b, "10.0.0.10:80", "10.0.0.11")
	// A filter of a port that comes later is waiting for it.
	w.must(w.Unplug(t.Context(), p))
	w.must(w.ApplyFilter(t.Context(), machine.Filter{Port: p, Rules: nil}))
	_ = space
	w.guest("c", p)
	w.check("a filter from before", b, "10.0.0.10:80", "")
}
