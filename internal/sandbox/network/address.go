package network

import (
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

const maxFixedIPs = 5

// freeAddress takes the lowest free address of a subnet's pools while the
// pools are nearly empty. On crowded networks it guesses first, so that the
// ten thousandth port takes no longer than the first.
func (n *Core) freeAddress(r store.Reader, v model.Subnet, also []model.FixedIP) (string, bool) {
	free := func(address netip.Addr) bool {
		return !n.addressTaken(r, v.ID, address.String()) && !slices.Contains(also, model.FixedIP{SubnetID: v.ID, IPAddress: address.String()})
	}
	ranges := poolRanges(v)
	if found, ok := scan(ranges, 64, free); ok {
		return found.String(), true
	}
	for range 16 {
		if len(ranges) == 0 {
			break
		}
		if guess := within(ranges[rand.IntN(len(ranges))]); free(guess) {
			return guess.String(), true
		}
	}
	found, ok := scan(ranges, 1<<20, free)
	return found.String(), ok
}

func (n *Core) addressTaken(r store.Reader, subnetID, address string) bool {
	_, taken := n.model.PortsByAddress.First(r, model.AddressKey(subnetID, address))
	return taken
}

// scan looks at the first addresses of the ranges.
func scan(ranges []netipx.IPRange, limit int, free func(netip.Addr) bool) (netip.Addr, bool) {
	for _, r := range ranges {
		for address := r.From(); limit > 0 && address.IsValid() && address.Compare(r.To()) <= 0; address = address.Next() {
			if free(address) {
				return address, true
			}
			limit--
		}
	}
	return netip.Addr{}, false
}

// within is a random address of a range; of a very large one, of its first
// 2^63 addresses.
func within(r netipx.IPRange) netip.Addr {
	from, to := r.From().As16(), r.To().As16()
	low, high := binary.BigEndian.Uint64(from[8:]), binary.BigEndian.Uint64(to[8:])
	size := uint64(1) << 63
	if [8]byte(from[:8]) == [8]byte(to[:8]) {
		size = min(size, high-low+1)
	} else {
		size = min(size, -low)
	}
	if size == 0 {
		size = 1 << 63
	}
	binary.BigEndian.PutUint64(from[8:], low+rand.Uint64N(size))
	address := netip.AddrFrom16(from)
	if r.From().Is4() {
		return address.Unmap()
	}
	return address
}

// newMAC is a free address with OpenStack's prefix.
func (n *Core) newMAC(r store.Reader) string {
	for {
		number := rand.Uint32()
		mac := strings.Join([]string{"fa:16:3e", hex(number >> 16), hex(number >> 8), hex(number)}, ":")
		if _, taken := n.model.PortsByMAC.First(r, mac); !taken {
			return mac
		}
	}
}

func hex(number uint32) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[number>>4&15], digits[number&15]})
}

// eui64 is the address that a host makes of a prefix and its MAC, RFC 4291
// appendix A.
func eui64(prefix netip.Prefix, mac string) (string, error) {
	hardware, err := parseMAC(mac)
	if err != nil {
		return "", err
	}
	address := prefix.Addr().As16()
	copy(address[8:], []byte{hardware[0] ^ 2, hardware[1], hardware[2], 0xff, 0xfe, hardware[3], hardware[4], hardware[5]})
	return netip.AddrFrom16(address).String(), nil
}

// chooseAddresses are the addresses of a port for which none were asked: one
// of IPv4, one of IPv6 by DHCP, and all automatic ones.
func (n *Core) chooseAddresses(r store.Reader, port model.Port) ([]model.FixedIP, error) {
	chosen := []model.FixedIP{}
	done, tried := map[int]bool{}, map[int]bool{}
	for subnet := range n.model.SubnetsOfNetwork.Each(r, port.NetworkID) {
		if automaticAddress(subnet) || done[subnet.IPVersion] || !serves(subnet, port.DeviceOwner) {
			continue
		}
		tried[subnet.IPVersion] = true
		if address, ok := n.freeAddress(r, subnet, nil); ok {
			chosen = append(chosen, model.FixedIP{SubnetID: subnet.ID, IPAddress: address})
			done[subnet.IPVersion] = true
		}
	}
	if len(done) < len(tried) {
		return nil, conflict("IpAddressGenerationFailure", "No more IP addresses available on network %s.", port.NetworkID)
	}
	return n.addAutomatic(r, port, chosen)
}

// addAutomatic adds the addresses that follow from the MAC.
func (n *Core) addAutomatic(r store.Reader, port model.Port, ips []model.FixedIP) ([]model.FixedIP, error) {
	if strings.HasPrefix(port.DeviceOwner, "network:router") {
		return ips, nil
	}
	for subnet := range n.model.SubnetsOfNetwork.Each(r, port.NetworkID) {
		has := slices.ContainsFunc(ips, func(ip model.FixedIP) bool { return ip.SubnetID == subnet.ID })
		if has || !automaticAddress(subnet) || !serves(subnet, port.DeviceOwner) {
			continue
		}
		address, err := eui64(netip.MustParsePrefix(subnet.CIDR), port.MAC)
		if err != nil {
			return nil, err
		}
		ips = append(ips, model.FixedIP{SubnetID: subnet.ID, IPAddress: address})
	}
	return ips, nil
}

// keepAutomatic adds to the new addresses of a port the automatic ones that it
// had: no update takes them away.
func (n *Core) keepAutomatic(r store.Reader, port model.Port, ips, held []model.FixedIP) []model.FixedIP {
	for _, ip := range held {
		subnet, ok := n.model.Subnets.Get(r, ip.SubnetID)
		if ok && automaticAddress(subnet) && !slices.Contains(ips, ip) && !strings.HasPrefix(port.DeviceOwner, "network:router") {
			ips = append(ips, ip)
		}
	}
	return ips
}

// serves reports whether ports of an owner may have addresses of a subnet.
func serves(v model.Subnet, owner string) bool {
	return len(v.ServiceTypes) == 0 || slices.Contains(v.ServiceTypes, owner)
}

// takeAddresses are the addresses that were asked for, completed. Those of
// held are the port's own already.
func (n *Core) takeAddresses(r store.Reader, port model.Port, asked, held []model.FixedIP) ([]model.FixedIP, error) {
	if len(asked) > maxFixedIPs && !strings.HasPrefix(port.DeviceOwner, "network:") {
		return nil, invalid("Exceeded maximum amount of fixed ips per port")
	}
	taken := []model.FixedIP{}
	for _, ip := range asked {
		ip, err := n.takeAddress(r, port, ip, held, taken)
		if err != nil {
			return nil, err
		}
		taken = append(taken, ip)
	}
	return taken, nil
}

func (n *Core) takeAddress(r store.Reader, port model.Port, ip model.FixedIP, held, taken []model.FixedIP) (model.FixedIP, error) {
	subnet, err := n.subnetFor(r, port.NetworkID, ip)
	if err != nil {
		return ip, err
	}
	named := ip.SubnetID != ""
	ip.SubnetID = subnet.ID
	if ip.IPAddress == "" {
		return n.completeAddress(r, port, subnet, held, taken)
	}
	address := netip.MustParseAddr(ip.IPAddress)
	ip.IPAddress = address.String()
	if prefix := netip.MustParsePrefix(subnet.CIDR); !prefix.IsSingleIP() && !usable(prefix).Contains(address) && !anycast(prefix, address, port.DeviceOwner) {
		if !named {
			return ip, noSubnetFor(ip.IPAddress)
		}
		return ip, api.Errorf(http.StatusBadRequest, "InvalidIpForSubnet", "IP address %s is not a valid IP for the specified subnet.", ip.IPAddress)
	}
	if slices.Contains(taken, ip) {
		return ip, invalid("Duplicate IP addresses in fixed_ips")
	}
	if !slices.Contains(held, ip) && n.addressTaken(r, subnet.ID, ip.IPAddress) {
		return ip, conflict("IpAddressAlreadyAllocated", "IP address %s already allocated in subnet %s", ip.IPAddress, subnet.ID)
	}
	return ip, nil
}

// completeAddress finds an address in a subnet: the one the port has there,
// the automatic one, or a free one.
func (n *Core) completeAddress(r store.Reader, port model.Port, subnet model.Subnet, held, taken []model.FixedIP) (model.FixedIP, error) {
	for _, ip := range held {
		if ip.SubnetID == subnet.ID && !slices.Contains(taken, ip) {
			return ip, nil
		}
	}
	ip := model.FixedIP{SubnetID: subnet.ID}
	if automaticAddress(subnet) && !strings.HasPrefix(port.DeviceOwner, "network:router") {
		address, err := eui64(netip.MustParsePrefix(subnet.CIDR), port.MAC)
		ip.IPAddress = address
		return ip, err
	}
	address, ok := n.freeAddress(r, subnet, taken)
	if !ok {
		return ip, conflict("IpAddressGenerationFailure", "No more IP addresses available for subnet %s.", subnet.ID)
	}
	ip.IPAddress = address
	return ip, nil
}

// anycast says that an address is the first of an IPv6 subnet, which is the
// default of its gateway and which routers may have (Neutron's check_subnet_ip).
func anycast(prefix netip.Prefix, address netip.Addr, owner string) bool {
	routers := []string{"", model.OwnerRouterInterface, model.OwnerRouterGateway}
	return address.Is6() && address == prefix.Masked().Addr() && slices.Contains(routers, owner)
}

// subnetFor is the subnet of the network that an entry names, or that its
// address lies in.
func (n *Core) subnetFor(r store.Reader, networkID string, ip model.FixedIP) (model.Subnet, error) {
	address, err := netip.ParseAddr(ip.IPAddress)
	if ip.IPAddress != "" && err != nil {
		return model.Subnet{}, api.BadRequest("Invalid input for fixed_ips. Reason: '%s' is not a valid IP address.", ip.IPAddress)
	}
	if ip.SubnetID != "" {
		subnet, ok := n.model.Subnets.Get(r, ip.SubnetID)
		if !ok {
			return subnet, n.subnets().missing(ip.SubnetID)
		}
		if subnet.NetworkID != networkID {
			return subnet, invalid("Failed to create port on network %s, because fixed_ips included invalid subnet %s", networkID, ip.SubnetID)
		}
		if address.IsValid() && !netip.MustParsePrefix(subnet.CIDR).Contains(address) {
			return subnet, api.Errorf(http.StatusBadRequest, "InvalidIpForSubnet", "IP address %s is not a valid IP for the specified subnet.", address)
		}
		return subnet, nil
	}
	if ip.IPAddress == "" {
		return model.Subnet{}, invalid("IP allocation requires subnet_id or ip_address")
	}
	for subnet := range n.model.SubnetsOfNetwork.Each(r, networkID) {
		if netip.MustParsePrefix(subnet.CIDR).Contains(address) {
			return subnet, nil
		}
	}
	return model.Subnet{}, noSubnetFor(address.String())
}

func noSubnetFor(address string) error {
	return api.Errorf(http.StatusBadRequest, "InvalidIpForNetwork",
		"IP address %s is not a valid IP for any of the subnets on the specified network.", address)
}

// addressNewSubnet gives the ports of a network the automatic address of a
// subnet that was added.
func (n *Core) addressNewSubnet(tx *store.Tx, v model.Subnet) {
	if !automaticAddress(v) {
		return
	}
	for port := range n.model.PortsOfNetwork.Each(tx, v.NetworkID) {
		ips, err := n.addAutomatic(tx, port, slices.Clone(port.FixedIPs))
		if err != nil || len(ips) == len(port.FixedIPs) {
			continue
		}
		n.model.Ports.Change(tx, port.ID, func(port *model.Port) {
			port.FixedIPs = ips
			n.touch(&port.NetworkMeta)
		})
	}
}
