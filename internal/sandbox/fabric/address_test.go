package fabric_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox/machine"
	"github.com/slipway-sh/slipway/internal/sandbox/namespace"
)

// ipv4 are the addresses of the links in a namespace whose names begin so.
func ipv4(t *testing.T, space, links string) []string {
	t.Helper()
	var found []string
	err := namespace.Do(space, func() error {
		all, err := net.Interfaces()
		for _, link := range all {
			if !strings.HasPrefix(link.Name, links) {
				continue
			}
			addresses, e := link.Addrs()
			err = errors.Join(err, e)
			for _, a := range addresses {
				if ip, _, e := net.ParseCIDR(a.String()); e == nil && ip.To4() != nil {
					found = append(found, a.String())
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A router whose gateway gets another address of its subnet has that one, and so has the
// host of an external network whose subnet is another.
func TestAddressesChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.must(w.ApplyNetwork(ctx, network("ext", "172.24.4.0/24", true, "172.24.4.1")))
	gateway := port("gggggggg-ggg", "ext", macG, "172.24.4.5/24", "172.24.4.1")
	router := machine.Router{ID: "r", SNAT: true, Gateway: &gateway}
	w.must(w.ApplyRouter(ctx, router))
	space := filepath.Join(w.dir, "spaces", "rtr-r")
	w.must(namespace.Do(space, func() error { // the kernel's default, which systemd changes
		files, err := filepath.Glob("/proc/sys/net/ipv4/conf/*/promote_secondaries")
		for _, file := range files {
			err = errors.Join(err, os.WriteFile(file, []byte("0"), 0))
		}
		return err
	}))
	gateway.Addresses[0].Prefix = prefix("172.24.4.6/24")
	w.must(w.ApplyRouter(ctx, router))
	if got := ipv4(t, space, "qg-"); !slices.Equal(got, []string{"172.24.4.6/24"}) {
		t.Errorf("the router's gateway has %q", got)
	}
	w.must(w.ApplyNetwork(ctx, network("ext", "172.24.5.0/24", true, "172.24.5.1")))
	if got := ipv4(t, w.host, "sw"); !slices.Equal(got, []string{"172.24.5.1/24"}) {
		t.Errorf("the host has %q", got)
	}
}
