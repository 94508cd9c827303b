package fabric

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/nftables"
)

func TestIntervals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prefixes string
		v6       bool
		want     string
	}{
		{"", false, ""},
		{"10.0.0.0/24", false, "10.0.0.0-10.0.1.0"},
		{"10.0.0.7/24 10.0.0.9/32", false, "10.0.0.0-10.0.1.0"},
		{"10.0.1.0/24 10.0.0.0/24", false, "10.0.0.0-10.0.2.0"},
		{"10.0.0.5/32 192.168.0.0/16", false, "10.0.0.5-10.0.0.6 192.168.0.0-192.169.0.0"},
		{"255.255.255.0/24", false, "255.255.255.0"},
		{"fd00::/8 10.0.0.0/8", true, "fd00::-fe00::"},
		{"fd00::1/128 10.0.0.0/8", false, "10.0.0.0-11.0.0.0"},
	} {
		var in []netip.Prefix
		for _, p := range strings.Fields(c.prefixes) {
			in = append(in, netip.MustParsePrefix(p))
		}
		if got := show(intervals(in, c.v6)); got != c.want {
			t.Errorf("%s: %s, want %s", c.prefixes, got, c.want)
		}
	}
}

func show(elements []nftables.SetElement) string {
	var b strings.Builder
	for _, e := range elements {
		a, _ := netip.AddrFromSlice(e.Key)
		switch {
		case e.IntervalEnd:
			fmt.Fprintf(&b, "-%s", a)
		case b.Len() > 0:
			fmt.Fprintf(&b, " %s", a)
		default:
			fmt.Fprint(&b, a)
		}
	}
	return b.String()
}

func TestProtocol(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]byte{"tcp": 6, "vrrp": 112, "112": 112, "0": 0, "icmpv6": 58} {
		if got, err := protocol(name); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", name, got, err, want)
		}
	}
	for _, name := range []string{"256", "-1", "quux"} {
		if _, err := protocol(name); err == nil {
			t.Errorf("%s is a protocol", name)
		}
	}
}
