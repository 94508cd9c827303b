package remote

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// must ends the test at an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// end is one end of a cable between two network namespaces.
type end struct {
	space, address string
	mtu            int
}

// cable connects two network namespaces of the test. Each end loses what is larger than its MTU,
// and both believe that the other takes 1,500 bytes.
func cable(t *testing.T, ends [2]end) {
	t.Helper()
	var handles [2]*netlink.Handle
	var spaces [2]netns.NsHandle
	for i, e := range ends {
		must(t, namespace.Create(e.space))
		t.Cleanup(func() { _ = namespace.Delete(e.space) })
		space, err := netns.GetFromPath(e.space)
		must(t, err)
		t.Cleanup(func() { space.Close() })
		spaces[i] = space
		handles[i], err = netlink.NewHandleAt(space)
		must(t, err)
		t.Cleanup(handles[i].Close)
	}
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "here", MTU: ends[0].mtu}, PeerName: "there", PeerMTU: uint32(ends[1].mtu), PeerNamespace: netlink.NsFd(spaces[1])}
	must(t, handles[0].LinkAdd(veth))
	for i, name := range []string{"here", "there"} {
		link, err := handles[i].LinkByName(name)
		must(t, err)
		address, err := netlink.ParseAddr(ends[i].address + "/32")
		must(t, err)
		must(t, handles[i].LinkSetGSOMaxSegs(link, 1)) // else the cable carries what is cut up later
		must(t, handles[i].AddrAdd(link, address))
		must(t, handles[i].LinkSetUp(link))
		other, err := netlink.ParseIPNet(ends[1-i].address + "/32")
		must(t, err)
		must(t, handles[i].RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: other, Scope: netlink.SCOPE_LINK, AdvMSS: 1460}))
	}
}

// TestAPathThatLosesFullPackets is used all the same, and told.
func TestAPathThatLosesFullPackets(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	for name, c := range map[string]struct {
		here, there int
		loses       bool
	}{
		"whole":              {1500, 1500, false},
		"loses what we send": {1500, 1300, true},
		"loses its answers":  {1300, 1500, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			here, there := end{filepath.Join(folder, "here"), "10.9.0.1", c.here}, end{filepath.Join(folder, "there"), "10.9.0.2", c.there}
			cable(t, [2]end{here, there})
			var l net.Listener
			must(t, namespace.Do(there.space, func() (err error) {
				l, err = net.Listen("tcp", there.address+":0")
				return err
			}))
			machine := newMachineAt(t, l, func(_ string, in io.Reader, out, _ io.Writer) uint32 {
				_, _ = io.Copy(out, in)
				return 0
			})
			must(t, namespace.Do(here.space, func() error {
				m, err := Open(t.Context(), machine.target)
				if err != nil {
					return err
				}
				defer m.Close()
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				if loses := m.losesFullPackets(ctx, 2*time.Second); loses != c.loses {
					t.Errorf("loses full packets: %t", loses)
				}
				return nil
			}))
		})
	}
}
