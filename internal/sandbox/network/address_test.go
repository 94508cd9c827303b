package network

import (
	"net/netip"
	"testing"

	"go4.org/netipx"
)

func TestEUI64(t *testing.T) {
	t.Parallel()
	// The example of RFC 4291 appendix A with a prefix of RFC 3849.
	got, err := eui64(netip.MustParsePrefix("2001:db8::/64"), "34:56:78:9a:bc:de")
	if want := "2001:db8::3656:78ff:fe9a:bcde"; err != nil || got != want {
		t.Errorf("got %s and %v, want %s", got, err, want)
	}
}

func TestWithinStaysInRange(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"192.0.2.7-192.0.2.9", "192.0.2.7-192.0.2.7", "0.0.0.0-255.255.255.255",
		"2001:db8::1-2001:db8::ffff:ffff:ffff:ffff", "2001:db8::-2001:db8:ffff::", "2001:db8::ffff:ffff:ffff:ffff-2001:db8:0:1::5"} {
		r := netipx.MustParseIPRange(text)
		for range 200 {
			if got := within(r); !r.Contains(got) {
				t.Fatalf("%s is not in %s", got, text)
			}
		}
	}
}

func TestUsable(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]string{
		"192.0.2.0/24": "192.0.2.1-192.0.2.254", "192.0.2.0/31": "192.0.2.0-192.0.2.1", "192.0.2.4/32": "192.0.2.4-192.0.2.4",
		"2001:db8::/126": "2001:db8::1-2001:db8::3",
	} {
		if got := usable(netip.MustParsePrefix(prefix)).String(); got != want {
			t.Errorf("%s: got %s, want %s", prefix, got, want)
		}
	}
}

func TestDefaultPoolsLeaveTheGatewayOut(t *testing.T) {
	t.Parallel()
	for gateway, want := range map[string]int{"192.0.2.1": 1, "192.0.2.100": 2, "198.51.100.1": 1} {
		pools := defaultPools(netip.MustParsePrefix("192.0.2.0/24"), &gateway)
		if len(pools) != want || pools[len(pools)-1].End != "192.0.2.254" {
			t.Errorf("gateway %s: got %v", gateway, pools)
		}
	}
}

func TestScanStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	looked := 0
	_, ok := scan([]netipx.IPRange{netipx.MustParseIPRange("10.0.0.1-10.0.0.200")}, 64, func(netip.Addr) bool { looked++; return false })
	if ok || looked != 64 {
		t.Errorf("looked at %d addresses and found %v", looked, ok)
	}
}

func TestParseRange(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"80": true, "80:90": true, "90:80": false, "0": false, "80:70000": false, "a": false, "": false} {
		if _, _, err := parseRange(text); (err == nil) != want {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
