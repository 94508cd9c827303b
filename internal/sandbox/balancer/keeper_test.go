package balancer_test

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/fabric"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// route gives the world a router with a floating IP for each load balancer's address, and returns
// the namespace of its host.
func (w *world) route() string {
	w.Helper()
	address := func(prefix, gateway string) []machine.Address {
		a := machine.Address{Prefix: netip.MustParsePrefix(prefix)}
		if gateway != "" {
			a.Gateway = netip.MustParseAddr(gateway)
		}
		return []machine.Address{a}
	}
	w.must(w.fabric.ApplyNetwork(w.Context(), machine.Network{ID: "ext", MTU: 1500, External: true,
		Subnets: []machine.Subnet{{Prefix: netip.MustParsePrefix("172.24.4.0/24"), Gateway: netip.MustParseAddr("172.24.4.1")}}}))
	w.must(w.fabric.ApplyRouter(w.Context(), machine.Router{ID: "r", SNAT: true,
		Gateway:      &machine.Port{ID: "gggggggg-000", NetworkID: "ext", MTU: 1500, MAC: "fa:16:3e:00:01:01", Addresses: address("172.24.4.5/24", "172.24.4.1")},
		Interfaces:   []machine.Port{{ID: "rrrrrrrr-000", NetworkID: "net", MTU: 1500, MAC: "fa:16:3e:00:01:02", Addresses: address("10.0.0.1/24", "")}},
		Translations: []machine.Translation{{Floating: netip.MustParseAddr("172.24.4.20"), Fixed: netip.MustParseAddr("10.0.0.100")}}}))
	return filepath.Join(w.dir, "host")
}

// teller is a member that tells who asks, on a port of its own.
func (w *world) teller(n int) {
	w.Helper()
	space := filepath.Join(w.dir, fmt.Sprint("teller", n))
	w.must(namespace.Create(space))
	w.Cleanup(func() { _ = namespace.Delete(space) })
	p := port(n)
	p.Addresses[0].Gateway = netip.MustParseAddr("10.0.0.1")
	w.must(w.fabric.Plug(w.Context(), fabric.Plug{Space: space, Name: "eth0", Port: p, Host: true, Wait: true}))
	var l net.Listener
	w.must(namespace.Do(space, func() (err error) {
		l, err = net.Listen("tcp", ":30080")
		return err
	}))
	w.Cleanup(func() { l.Close() })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			fmt.Fprintf(c, "%d %s", n, c.RemoteAddr().(*net.TCPAddr).IP)
			c.Close()
		}
	}()
}

// asks connects to the floating IP so many times and counts the answers.
func (w *world) asks(from string, n int) map[string]int {
	by := map[string]int{}
	for range n {
		answer := ""
		_ = namespace.Do(from, func() error {
			c, err := (&net.Dialer{Timeout: time.Second}).Dial("tcp", "172.24.4.20:80")
			if err != nil {
				return err
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(2 * time.Second))
			text, err := io.ReadAll(c)
			answer = string(text)
			return err
		})
		by[answer]++
	}
	return by
}

// TestMembersSeeClients of a floating IP where the load balancer is to keep them, as OVN's do: as
// members come, go and fail.
func TestMembersSeeClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	host := w.route()
	w.teller(21)
	w.teller(22)
	member := func(n int) machine.Member {
		return machine.Member{ID: fmt.Sprint("m", n), Weight: 1, Address: netip.MustParseAddrPort(fmt.Sprintf("10.0.0.%d:30080", n))}
	}
	vip := port(100)
	vip.Addresses[0].Gateway = netip.MustParseAddr("10.0.0.1")
	lb := machine.Balancer{ID: "lb", VIP: vip, KeepsClients: true, Listeners: []machine.Listener{{ID: "l", Protocol: "TCP", Port: 80,
		Algorithm: "SOURCE_IP_PORT", Members: []machine.Member{member(21), member(22)}}}}
	apply := func() { t.Helper(); w.must(w.ApplyBalancer(t.Context(), lb)) }
	has := func(what string, want ...string) {
		t.Helper()
		got := map[string]int{}
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if got = w.asks(host, 20); len(got) == len(want) && got[want[0]] > 0 && got[want[len(want)-1]] > 0 {
				return
			}
		}
		t.Errorf("%s: %v, want %v", what, got, want)
	}
	const one, two, through = "21 172.24.4.1", "22 172.24.4.1", "22 10.0.0.100"
	apply()
	has("two members", one, two)
	lb.Listeners[0].Members = lb.Listeners[0].Members[1:]
	apply()
	has("one of them", two)
	lb.Listeners[0].AllowedCIDRs = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	apply()
	has("a client that is not allowed", "")
	lb.Listeners[0].AllowedCIDRs = append(lb.Listeners[0].AllowedCIDRs, netip.MustParsePrefix("172.24.4.0/28"))
	apply()
	has("one that is", two)

	lb.Listeners[0].Members = append(lb.Listeners[0].Members, member(23)) // nobody listens there
	lb.Listeners[0].Check = &machine.Check{Type: "TCP", Delay: 1, Timeout: 1, MaxRetries: 1, MaxRetryDn: 1}
	apply()
	has("a member that fails its check", two)

	lb.Listeners[0].Check, lb.Listeners[0].Members = nil, lb.Listeners[0].Members[:1]
	lb.ID, lb.KeepsClients = "other", false // one of an amphora in its place
	w.must(w.DeleteBalancer(t.Context(), "lb"))
	apply()
	has("a load balancer that hides clients", through)
	if got := w.asks(filepath.Join(w.dir, "teller21"), 4); !maps.Equal(got, map[string]int{through: 4}) {
		t.Errorf("from inside: %v", got)
	}
}
