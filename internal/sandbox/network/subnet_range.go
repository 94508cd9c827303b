package network

import (
	"net/http"
	"net/netip"

	"go4.org/netipx"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// The modes of IPv6 subnets.
const (
	slaac     = "slaac"
	stateful  = "dhcpv6-stateful"
	stateless = "dhcpv6-stateless"
)

// automaticAddress reports whether a port's address in the subnet follows
// from its MAC.
func automaticAddress(v model.Subnet) bool {
	mode := text(v.AddressMode)
	return v.IPVersion == 6 && (mode == slaac || mode == stateless)
}

// setRange finds the subnet's prefix: the one said, or one of a subnet pool.
func (n *Core) setRange(tx *store.Tx, p *api.Principal, v *model.Subnet, in subnetInput) error {
	if err := setModes(v, in); err != nil {
		return err
	}
	prefix, err := parseCIDR(in.CIDR.Or(""))
	if err != nil {
		return err
	}
	pooled := in.SubnetPoolID.Value != "" || in.DefaultPool.Value
	if !pooled {
		if in.PrefixLen.Set && !in.PrefixLen.Null {
			return api.BadRequest("Bad subnets request: cidr and prefixlen must not be supplied together.")
		}
		if !in.CIDR.Set || in.CIDR.Null {
			return api.BadRequest("Bad subnets request: a subnetpool must be specified in the absence of a cidr.")
		}
	} else if prefix, err = n.takeFromPool(tx, p, v, in, prefix); err != nil {
		return err
	}
	v.CIDR, v.IPVersion = prefix.Masked().String(), version(prefix.Addr())
	if in.IPVersion.Set && !in.IPVersion.Null && in.IPVersion.Value != v.IPVersion {
		if err := between("ip_version", in.IPVersion.Value, 4, 6); err != nil {
			return err
		}
		return invalid("cidr '%s' does not match the ip_version '%d'", v.CIDR, in.IPVersion.Value)
	}
	if !pooled {
		if err := require("ip_version", in.IPVersion.Set); err != nil {
			return err
		}
	}
	return checkModes(*v, prefix)
}

func setModes(v *model.Subnet, in subnetInput) error {
	for name, mode := range map[string]api.Optional[string]{"ipv6_ra_mode": in.RAMode, "ipv6_address_mode": in.AddressMode} {
		if mode.Set && !mode.Null {
			if err := oneOf(name, mode.Value, stateful, stateless, slaac); err != nil {
				return err
			}
		}
	}
	pointer(in.RAMode, &v.RAMode)
	pointer(in.AddressMode, &v.AddressMode)
	return nil
}

func checkModes(v model.Subnet, prefix netip.Prefix) error {
	if v.RAMode == nil && v.AddressMode == nil {
		return nil
	}
	switch {
	case v.IPVersion == 4:
		return invalid("ipv6_ra_mode or ipv6_address_mode cannot be set when ip_version is 4")
	case v.RAMode != nil && v.AddressMode != nil && *v.RAMode != *v.AddressMode:
		return invalid("ipv6_ra_mode set to '%s' with ipv6_address_mode set to '%s' is not valid. If both attributes are set, they must be the same value", *v.RAMode, *v.AddressMode)
	case automaticAddress(v) && prefix.Bits() != 64:
		return invalid("Invalid CIDR %s for IPv6 address mode. OpenStack uses the EUI-64 address format, which requires the prefix to be /64", v.CIDR)
	}
	return nil
}

// parseCIDR reads a prefix; an empty text is the zero prefix. Bits of the
// host are forgiven, as Neutron does.
func parseCIDR(text string) (netip.Prefix, error) {
	if text == "" {
		return netip.Prefix{}, nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return prefix, invalid("%s is not in a CIDR format", text)
	}
	return prefix.Masked(), nil
}

func version(a netip.Addr) int {
	if a.Is4() {
		return 4
	}
	return 6
}

// defaultGateway is the first address after the network's; with IPv6 the
// network's own, which is the routers' anycast address.
func defaultGateway(prefix netip.Prefix) netip.Addr {
	if prefix.IsSingleIP() || prefix.Addr().Is6() {
		return prefix.Addr()
	}
	return prefix.Addr().Next()
}

// usable is the range without network and broadcast address.
func usable(prefix netip.Prefix) netipx.IPRange {
	first, last := prefix.Addr(), netipx.PrefixLastIP(prefix)
	if prefix.Addr().Is4() && prefix.Bits() < 31 {
		return netipx.IPRangeFrom(first.Next(), last.Prev())
	}
	if prefix.Addr().Is6() && prefix.Bits() < 127 {
		return netipx.IPRangeFrom(first.Next(), last)
	}
	return netipx.IPRangeFrom(first, last)
}

// defaultPools are all usable addresses but the gateway's.
func defaultPools(prefix netip.Prefix, gateway *string) []model.AllocationPool {
	var free netipx.IPSetBuilder
	free.AddRange(usable(prefix))
	if gateway != nil {
		if address, err := netip.ParseAddr(*gateway); err == nil {
			free.Remove(address)
		}
	}
	set, err := free.IPSet()
	if err != nil {
		return nil
	}
	var pools []model.AllocationPool
	for _, r := range set.Ranges() {
		pools = append(pools, model.AllocationPool{Start: r.From().String(), End: r.To().String()})
	}
	return pools
}

// overlapping refuses ranges that another subnet of the network has.
func (n *Core) overlapping(r store.Reader, v model.Subnet, prefix netip.Prefix) error {
	for other := range n.model.SubnetsOfNetwork.Each(r, v.NetworkID) {
		if other.ID != v.ID && netip.MustParsePrefix(other.CIDR).Overlaps(prefix) {
			return invalid("Requested subnet with cidr: %s for network: %s overlaps with another subnet", v.CIDR, v.NetworkID)
		}
	}
	return nil
}

func conflict(kind, format string, args ...any) error {
	return api.Errorf(http.StatusConflict, kind, format, args...)
}
