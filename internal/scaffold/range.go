package scaffold

import (
	"fmt"
	"net/netip"

	"github.com/slipway-sh/slipway/internal/cloud"
)

// freeRange is the default range of the seed's network, or the next one that
// overlaps no subnet that the project can see.
func freeRange(s *cloud.Snapshot) Choice {
	c := Choice{Setting: "spec.seed.network.cidr"}
	for third := 100; third < 256; third++ {
		candidate := netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, byte(third), 0}), 24)
		other := overlapping(s, candidate)
		if other == "" {
			c.Value = candidate.String()
			if c.Why == "" {
				c.Why = "it overlaps no subnet that the project sees"
			}
			return c
		}
		c.Why = fmt.Sprintf("earlier ranges overlap subnets that the project sees, such as %s", other)
	}
	c.Value, c.Why = "192.168.100.0/24", "all similar ranges overlap a subnet that the project sees: choose another one"
	return c
}

func overlapping(s *cloud.Snapshot, candidate netip.Prefix) string {
	for _, subnet := range s.Subnets {
		if prefix, err := netip.ParsePrefix(subnet.CIDR); err == nil && prefix.Overlaps(candidate) {
			return subnet.CIDR
		}
	}
	return ""
}
