package network

import (
	"net/http"
	"net/netip"
	"slices"

	"go4.org/netipx"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// The most that a subnet may have, as neutron.conf says by default.
const (
	maxNameservers = 5
	maxHostRoutes  = 20
	maxRoutes      = 30
)

// checkSubnet checks a new or changed subnet, and gives it pools if it has
// none.
func (n *Core) checkSubnet(r store.Reader, v *model.Subnet) error {
	prefix := netip.MustParsePrefix(v.CIDR)
	if prefix.Addr().IsMulticast() || prefix.Addr().IsLoopback() {
		return invalid("Invalid CIDR: '%s' is a multicast or loopback range", v.CIDR)
	}
	if v.IPVersion == 4 && prefix.IsSingleIP() && v.DHCP {
		return invalid("Subnet has a prefix length that is incompatible with DHCP service enabled")
	}
	if err := n.overlapping(r, *v, prefix); err != nil {
		return err
	}
	if err := checkGateway(v, prefix); err != nil {
		return err
	}
	if v.Pools == nil {
		v.Pools = defaultPools(prefix, v.Gateway)
	} else if err := checkPools(v, prefix); err != nil {
		return err
	}
	if err := gatewayOutside(*v); err != nil {
		return err
	}
	if v.SegmentID != nil {
		if segment, ok := n.model.Segments.Get(r, *v.SegmentID); !ok || segment.NetworkID != v.NetworkID {
			return api.Errorf(http.StatusNotFound, "SegmentNotFound", "Segment %s could not be found.", *v.SegmentID)
		}
	}
	if err := checkNameservers(*v); err != nil {
		return err
	}
	return checkHostRoutes(*v)
}

func checkGateway(v *model.Subnet, prefix netip.Prefix) error {
	if v.Gateway == nil {
		return nil
	}
	if *v.Gateway == "" {
		return api.BadRequest("Invalid input for gateway_ip. Reason: '' is not a valid IP address.")
	}
	gateway, err := netip.ParseAddr(*v.Gateway)
	if err != nil {
		return api.BadRequest("Invalid input for gateway_ip. Reason: '%s' is not a valid IP address.", *v.Gateway)
	}
	if version(gateway) != v.IPVersion {
		return invalid("gateway_ip '%s' does not match the ip_version '%d'", gateway, v.IPVersion)
	}
	if prefix.Contains(gateway) && !prefix.IsSingleIP() && gateway != defaultGateway(prefix) && !usable(prefix).Contains(gateway) {
		return invalid("Gateway is not valid on subnet")
	}
	canonical := gateway.String()
	v.Gateway = &canonical
	return nil
}

// checkPools checks the ranges and sorts them.
func checkPools(v *model.Subnet, prefix netip.Prefix) error {
	ranges := make([]netipx.IPRange, 0, len(v.Pools))
	for _, pool := range v.Pools {
		start, errStart := netip.ParseAddr(pool.Start)
		end, errEnd := netip.ParseAddr(pool.End)
		if errStart != nil || errEnd != nil {
			return api.BadRequest("Invalid input for allocation_pools. Reason: '%s-%s' is not a valid range of addresses.", pool.Start, pool.End)
		}
		r := netipx.IPRangeFrom(start, end)
		if !r.IsValid() || version(start) != v.IPVersion {
			return api.Errorf(http.StatusBadRequest, "InvalidAllocationPool", "The allocation pool %s-%s is not valid.", pool.Start, pool.End)
		}
		if whole := usable(prefix); !whole.Contains(start) || !whole.Contains(end) {
			return api.Errorf(http.StatusBadRequest, "OutOfBoundsAllocationPool",
				"The allocation pool %s-%s spans beyond the subnet cidr %s.", pool.Start, pool.End, v.CIDR)
		}
		ranges = append(ranges, r)
	}
	slices.SortFunc(ranges, func(a, b netipx.IPRange) int { return a.From().Compare(b.From()) })
	v.Pools = make([]model.AllocationPool, 0, len(ranges))
	for i, r := range ranges {
		if i > 0 && ranges[i-1].Overlaps(r) {
			return conflict("OverlappingAllocationPools", "Found overlapping allocation pools: %s %s for subnet %s.", ranges[i-1], r, v.CIDR)
		}
		v.Pools = append(v.Pools, model.AllocationPool{Start: r.From().String(), End: r.To().String()})
	}
	return nil
}

func gatewayOutside(v model.Subnet) error {
	if v.Gateway == nil {
		return nil
	}
	gateway := netip.MustParseAddr(*v.Gateway)
	for _, r := range poolRanges(v) {
		if r.Contains(gateway) {
			return conflict("GatewayConflictWithAllocationPools", "Gateway ip %s conflicts with allocation pool %s.", gateway, r)
		}
	}
	return nil
}

// poolRanges are the pools of a subnet that was checked.
func poolRanges(v model.Subnet) []netipx.IPRange {
	ranges := make([]netipx.IPRange, 0, len(v.Pools))
	for _, pool := range v.Pools {
		ranges = append(ranges, netipx.IPRangeFrom(netip.MustParseAddr(pool.Start), netip.MustParseAddr(pool.End)))
	}
	return ranges
}

func checkNameservers(v model.Subnet) error {
	if len(v.Nameservers) > maxNameservers {
		return api.Errorf(http.StatusBadRequest, "DNSNameServersExhausted",
			"Unable to complete operation for %s. The number of DNS nameservers exceeds the limit %d.", v.ID, maxNameservers)
	}
	for i, server := range v.Nameservers {
		if _, err := netip.ParseAddr(server); err != nil {
			return api.BadRequest("Invalid input for dns_nameservers. Reason: '%s' is not a valid nameserver. '%s' is not a valid IP address.", server, server)
		}
		if slices.Contains(v.Nameservers[:i], server) {
			return api.BadRequest("Invalid input for dns_nameservers. Reason: Duplicate nameserver '%s'.", server)
		}
	}
	return nil
}

func checkHostRoutes(v model.Subnet) error {
	if len(v.HostRoutes) > maxHostRoutes {
		return api.Errorf(http.StatusBadRequest, "HostRoutesExhausted",
			"Unable to complete operation for %s. The number of host routes exceeds the limit %d.", v.ID, maxHostRoutes)
	}
	for i, route := range v.HostRoutes {
		destination, hop, err := parseRoute("host_routes", route)
		if err != nil {
			return err
		}
		if version(destination.Addr()) != v.IPVersion || version(hop) != v.IPVersion {
			return invalid("host_routes '%s via %s' does not match the ip_version '%d'", route.Destination, route.NextHop, v.IPVersion)
		}
		if slices.Contains(v.HostRoutes[:i], route) {
			return api.BadRequest("Invalid input for host_routes. Reason: Duplicate hostroute '%s via %s'.", route.Destination, route.NextHop)
		}
	}
	return nil
}

func parseRoute(name string, route model.HostRoute) (netip.Prefix, netip.Addr, error) {
	destination, err := netip.ParsePrefix(route.Destination)
	if err != nil {
		return destination, netip.Addr{}, api.BadRequest("Invalid input for %s. Reason: '%s' is not a valid IP subnet.", name, route.Destination)
	}
	hop, err := netip.ParseAddr(route.NextHop)
	if err != nil {
		return destination, hop, api.BadRequest("Invalid input for %s. Reason: '%s' is not a valid IP address.", name, route.NextHop)
	}
	return destination.Masked(), hop, nil
}
