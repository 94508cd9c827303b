package fabric_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/fabric"
	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// world is a fabric with a host of its own.
type world struct {
	*testing.T
	*fabric.Fabric
	dir, host string
}

func newWorld(t *testing.T) world {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	dir := t.TempDir()
	w := world{T: t, dir: dir, host: filepath.Join(dir, "the-host")}
	w.space("the-host")
	w.Fabric = fabric.New(fabric.Options{Dir: filepath.Join(dir, "spaces"), Tag: "test", Host: w.host})
	t.Cleanup(func() {
		if err := w.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w world) space(name string) string {
	path := filepath.Join(w.dir, name)
	w.must(namespace.Create(path))
	w.Cleanup(func() { _ = namespace.Delete(path) })
	return path
}

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }
func address(s string) netip.Addr  { return netip.MustParseAddr(s) }

func port(id, network, mac, addr, gateway string) machine.Port {
	a := machine.Address{Prefix: prefix(addr)}
	if gateway != "" {
		a.Gateway = address(gateway)
	}
	return machine.Port{ID: id, NetworkID: network, MAC: mac, MTU: 1400, Addresses: []machine.Address{a}}
}

func network(id, subnet string, external bool, gateway string) machine.Network {
	return machine.Network{ID: id, MTU: 1400, External: external,
		Subnets: []machine.Subnet{{ID: id, Prefix: prefix(subnet), Gateway: address(gateway)}}}
}

// guest plugs a namespace that answers on TCP port 80 and 81 with the address
// that asked.
func (w world) guest(name string, p machine.Port) string {
	w.Helper()
	space := w.space(name)
	w.must(w.Plug(w.Context(), fabric.Plug{Space: space, Name: "eth0", Port: p, Host: true, Wait: true}))
	for _, n := range []string{":80", ":81"} {
		var l net.Listener
		w.must(namespace.Do(space, func() (err error) {
			l, err = net.Listen("tcp", n)
			return err
		}))
		w.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				fmt.Fprint(c, c.RemoteAddr().(*net.TCPAddr).IP)
				c.Close()
			}
		}()
	}
	return space
}

// ask connects from a namespace and returns what is answered, or "".
func ask(space, to string) string {
	var c net.Conn
	err := namespace.Do(space, func() (err error) {
		c, err = (&net.Dialer{Timeout: time.Second}).Dial("tcp", to)
		return err
	})
	if err != nil {
		return ""
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	answer, _ := io.ReadAll(c)
	return string(answer)
}

// askName sends a datagram from a namespace and returns what comes of it within
// half a second.
func askName(space, to string) error {
	return namespace.Do(space, func() error {
		c, err := net.Dial("udp", to)
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
			return err
		}
		if _, err := c.Write([]byte("name?")); err != nil {
			return err
		}
		_, err = c.Read(make([]byte, 512))
		return err
	})
}

func (w world) check(what, space, to, want string) {
	w.Helper()
	got := ask(space, to)
	// Loaded hosts take longer than ask waits; what is let through stays so.
	for try := 1; got == "" && want != "" && try < 5; try++ {
		got = ask(space, to)
	}
	if got != want {
		w.Errorf("%s: asking %s: %q answers, want %q", what, to, got, want)
	}
}

const (
	macA, macB, macC = "fa:16:3e:00:00:0a", "fa:16:3e:00:00:0b", "fa:16:3e:00:00:0c"
	macR, macS, macG = "fa:16:3e:00:01:01", "fa:16:3e:00:01:02", "fa:16:3e:00:01:03"
)

func TestRoutersAndFloatingIPs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.must(w.ApplyNetwork(ctx, network("ext", "172.24.4.0/24", true, "172.24.4.1")))
	w.must(w.ApplyNetwork(ctx, network("one", "10.0.0.0/24", false, "10.0.0.1")))
	w.must(w.ApplyNetwork(ctx, network("two", "10.1.0.0/24", false, "10.1.0.1")))
	w.must(w.ApplyNetwork(ctx, network("other", "10.0.0.0/24", false, "10.0.0.1"))) // the same addresses
	a := w.guest("a", port("aaaaaaaa-aaa", "one", macA, "10.0.0.10/24", "10.0.0.1"))
	b := w.guest("b", port("bbbbbbbb-bbb", "two", macB, "10.1.0.10/24", "10.1.0.1"))
	c := w.guest("c", port("cccccccc-ccc", "other", macC, "10.0.0.11/24", "10.0.0.1"))
	gateway := port("gggggggg-ggg", "ext", macG, "172.24.4.5/24", "172.24.4.1")
	router := machine.Router{ID: "r", SNAT: true, Gateway: &gateway,
		Interfaces:   []machine.Port{port("rrrrrrrr-rrr", "one", macR, "10.0.0.1/24", ""), port("ssssssss-sss", "two", macS, "10.1.0.1/24", "")},
		Translations: []machine.Translation{{Floating: address("172.24.4.20"), Fixed: address("10.0.0.10")}}}
	for range 2 { // the second finds everything
		w.must(w.ApplyRouter(ctx, router))
	}
	l := w.hostListener()
	w.check("between networks", a, "10.1.0.10:80", "10.0.0.10")
	w.check("floating IP from the host", w.host, "172.24.4.20:80", "172.24.4.1")
	w.check("out with a floating IP", a, l, "172.24.4.20")
	w.check("out without one", b, l, "172.24.4.5")
	w.check("floating IP from inside", b, "172.24.4.20:80", "172.24.4.5")
	w.check("own floating IP", a, "172.24.4.20:80", "172.24.4.20")
	w.check("another network with the same addresses", c, "10.0.0.10:80", "")

	// As often as cloud-init asks while a machine boots.
	for _, server := range []string{"192.0.2.53:53", fabric.MetadataAddress + ":53"} {
		for range 24 {
			if err := askName(a, server); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Fatalf("asking name server %s, which is not there: %v, want a refusal at once", server, err)
			}
		}
	}

	router.Translations = []machine.Translation{{Floating: address("172.24.4.20"), Fixed: address("10.1.0.10")}}
	w.must(w.ApplyRouter(ctx, router))
	w.check("floating IP after it moved", b, l, "172.24.4.20")
	w.check("without the floating IP", a, l, "172.24.4.5")

	router.Gateway, router.Translations, router.Interfaces = nil, nil, router.Interfaces[:1]
	w.must(w.ApplyRouter(ctx, router))
	w.check("after the gateway is gone", w.host, "172.24.4.20:80", "")
	w.check("after the interface is gone", a, "10.1.0.10:80", "")
	w.must(w.DeleteRouter(ctx, "r"))
	w.must(w.DeleteNetwork(ctx, "ext"))
	if got := links(t, w.host); len(got) != 1 {
		t.Errorf("links left on the host: %v", got)
	}
}

func (w world) hostListener() string {
	var l net.Listener
	w.must(namespace.Do(w.host, func() (err error) {
		l, err = net.Listen("tcp", "172.24.4.1:99")
		return err
	}))
	w.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, c.RemoteAddr().(*net.TCPAddr).IP)
			c.Close()
		}
	}()
	return "172.24.4.1:99"
}

func links(t *testing.T, space string) []string {
	t.Helper()
	var names []string
	err := namespace.Do(space, func() error {
		all, err := net.Interfaces()
		for _, i := range all {
			if i.Name != "sit0" && i.Name != "ifb0" && i.Name != "ifb1" {
				names = append(names, i.Name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestShutdownLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.ApplyNetwork(t.Context(), network("ext", "172.24.4.0/24", true, "172.24.4.1")))
	w.must(w.ApplyRouter(t.Context(), machine.Router{ID: "r"}))
	// A later process, which knows nothing yet, removes it all.
	later := fabric.New(fabric.Options{Dir: filepath.Join(w.dir, "spaces"), Tag: "test", Host: w.host})
	w.must(later.Shutdown(t.Context()))
	if got := links(t, w.host); len(got) != 1 {
		t.Errorf("links left on the host: %v", got)
	}
	left, _ := os.ReadDir(filepath.Join(w.dir, "spaces"))
	if len(left) > 0 {
		t.Errorf("namespaces left: %v", left)
	}
}

func TestPlugNeedsItsNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := w.Plug(soon, fabric.Plug{Space: w.host, Name: "eth0", Port: port("p", "none", macA, "10.0.0.2/24", "")}); err == nil {
		t.Error("a port of a network that is not there is plugged")
	}
	w.must(w.Unplug(t.Context(), port("p", "none", macA, "10.0.0.2/24", "")))
}

// After a start of the sandbox a machine can be made before its network.
func TestPlugWaitsForItsNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	space := w.space("machine")
	plugged := make(chan error, 1)
	go func() {
		plugged <- w.Plug(t.Context(), fabric.Plug{Space: space, Name: "eth0", Port: port("aaaaaaaa-aaa", "late", macA, "10.0.0.2/24", "")})
	}()
	select {
	case err := <-plugged:
		t.Fatalf("plugged without a network: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	w.must(w.ApplyNetwork(t.Context(), network("late", "10.0.0.0/24", false, "10.0.0.1")))
	w.must(<-plugged)
}
