package fabric_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// emulated is a machine behind a tap device: a namespace whose only link is a tap
// device too, with what comes out of one put into the other, as QEMU does. Its
// only route is the default one.
func (w world) emulated(name string, p machine.Port) (space string, end func()) {
	w.Helper()
	space = w.space(name)
	near, err := w.Tap(w.Context(), p)
	w.must(err)
	var far int
	w.must(namespace.Do(space, func() (err error) {
		if far, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
			return err
		}
		request, err := unix.NewIfreq("eth0")
		w.must(err)
		request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		return unix.IoctlIfreq(far, unix.TUNSETIFF, request)
	}))
	w.dress(space, p)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		relay(int(near.Fd()), far, &stop)
	}()
	return space, func() {
		stop.Store(true)
		<-done
		unix.Close(far)
		near.Close()
	}
}

// dress gives a link what a machine's own network configuration does.
func (w world) dress(space string, p machine.Port) {
	w.Helper()
	ns, err := netns.GetFromPath(space)
	w.must(err)
	defer ns.Close()
	h, err := netlink.NewHandleAt(ns)
	w.must(err)
	defer h.Close()
	link, err := h.LinkByName("eth0")
	w.must(err)
	mac, _ := net.ParseMAC(p.MAC)
	w.must(h.LinkSetHardwareAddr(link, mac))
	a, _ := netlink.ParseAddr(p.Addresses[0].Prefix.String())
	w.must(h.AddrAdd(link, a))
	w.must(h.LinkSetUp(link))
	w.must(h.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: p.Addresses[0].Gateway.AsSlice()}))
}

func relay(a, b int, stop *atomic.Bool) {
	packet := make([]byte, 1<<17)
	for !stop.Load() {
		polled := []unix.PollFd{{Fd: int32(a), Events: unix.POLLIN}, {Fd: int32(b), Events: unix.POLLIN}}
		if _, err := unix.Poll(polled, 20); err != nil {
			continue
		}
		for i, to := range []int{b, a} {
			if polled[i].Revents&unix.POLLIN == 0 {
				continue
			}
			if n, err := unix.Read(int(polled[i].Fd), packet); err == nil {
				_, _ = unix.Write(to, packet[:n]) // a link that is down loses packets
			}
		}
	}
}

// A machine behind a tap device has the network that a container has: the metadata
// service without a route of its own, neighbours as its security groups let it, and
// no address of others.
func TestTapDevices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.ApplyNetwork(t.Context(), network("n1", "10.1.0.0/24", false, "10.1.0.1")))
	gateway := port("router-port-1", "n1", "fa:16:3e:00:00:01", "10.1.0.1/24", "")
	w.must(w.ApplyRouter(t.Context(), machine.Router{ID: "r1", Interfaces: []machine.Port{gateway}}))
	service, err := w.Listen(t.Context(), "n1", "tcp", "169.254.169.254:80")
	w.must(err)
	defer service.Close()
	go answer(service)
	w.guest("neighbour", port("neighbour-port", "n1", "fa:16:3e:00:00:11", "10.1.0.11/24", "10.1.0.1"))
	p := port("machine-port", "n1", "fa:16:3e:00:00:12", "10.1.0.12/24", "10.1.0.1")
	w.must(w.ApplyFilter(t.Context(), machine.Filter{Port: p, Rules: []machine.Rule{{Protocol: "tcp", PortMin: 80, PortMax: 80}}}))
	space, end := w.emulated("machine", p)
	w.check("the metadata service", space, "169.254.169.254:80", "10.1.0.12")
	w.check("what the security group lets through", space, "10.1.0.11:80", "10.1.0.12")
	w.check("what it does not", space, "10.1.0.11:81", "")
	w.must(w.ApplyFilter(t.Context(), machine.Filter{Port: p, Rules: []machine.Rule{{Protocol: "tcp", PortMin: 80, PortMax: 81}}}))
	w.check("what a changed group lets through", space, "10.1.0.11:81", "10.1.0.12")
	tapName := "tap" + p.ID[:11]
	if found := links(t, w.Space("n1")); !slices.Contains(found, tapName) {
		t.Errorf("no %s among %v", tapName, found)
	}
	end()
	for until := time.Now().Add(5 * time.Second); slices.Contains(links(t, w.Space("n1")), tapName); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%s outlives its machine", tapName)
		}
	}
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := w.Tap(soon, port("p", "no-such", "fa:16:3e:00:00:13", "10.1.0.13/24", "")); err == nil {
		t.Error("a tap device in a network that is not there")
	}
}

// answer says who asks.
func answer(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		fmt.Fprint(c, c.RemoteAddr().(*net.TCPAddr).IP)
		c.Close()
	}
}
