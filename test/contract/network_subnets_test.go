package contract_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
)

func TestSubnetDefaults(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	network := neutronNetwork(t, client)
	subnet := neutronSubnet(t, client, network.ID, "192.0.2.0/24")
	pools := []subnets.AllocationPool{{Start: "192.0.2.2", End: "192.0.2.254"}}
	if subnet.GatewayIP != "192.0.2.1" || !subnet.EnableDHCP || !slices.Equal(subnet.AllocationPools, pools) ||
		subnet.IPVersion != 4 || len(subnet.DNSNameservers) != 0 || len(subnet.HostRoutes) != 0 {
		t.Errorf("got %+v", subnet)
	}
}

func TestSubnetUpdate(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	network := neutronNetwork(t, client)
	subnet := neutronSubnet(t, client, network.ID, "192.0.2.0/24")
	none, servers, no := "", []string{"198.51.100.1", "198.51.100.2"}, false
	updated := must[*subnets.Subnet](t)(subnets.Update(t.Context(), client, subnet.ID, subnets.UpdateOpts{
		GatewayIP: &none, DNSNameservers: &servers, EnableDHCP: &no,
		HostRoutes:      &[]subnets.HostRoute{{DestinationCIDR: "198.51.100.0/24", NextHop: "192.0.2.7"}},
		AllocationPools: []subnets.AllocationPool{{Start: "192.0.2.100", End: "192.0.2.200"}},
	}).Extract())
	if updated.GatewayIP != "" || !slices.Equal(updated.DNSNameservers, servers) || updated.EnableDHCP || len(updated.HostRoutes) != 1 ||
		updated.AllocationPools[0].Start != "192.0.2.100" {
		t.Errorf("got %+v", updated)
	}
}

func TestSubnetInvalid(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	network := neutronNetwork(t, client)
	neutronSubnet(t, client, network.ID, "192.0.2.0/25")
	gateway := func(address string) *string { return &address }
	pool := func(start, end string) []subnets.AllocationPool {
		return []subnets.AllocationPool{{Start: start, End: end}}
	}
	base := subnets.CreateOpts{NetworkID: network.ID, IPVersion: gophercloud.IPv4, CIDR: "198.51.100.0/24"}
	for name, test := range map[string]struct {
		change  func(*subnets.CreateOpts)
		status  int
		kind    string
		message string
	}{
		"overlap": {func(o *subnets.CreateOpts) { o.CIDR = "192.0.2.64/26" }, 400, "InvalidInput", "overlaps with another subnet"},
		"gateway in pool": {func(o *subnets.CreateOpts) {
			o.GatewayIP, o.AllocationPools = gateway("198.51.100.5"), pool("198.51.100.2", "198.51.100.9")
		}, 409, "GatewayConflictWithAllocationPools", "198.51.100.5 conflicts"},
		"pool outside":   {func(o *subnets.CreateOpts) { o.AllocationPools = pool("198.51.101.2", "198.51.101.9") }, 400, "OutOfBoundsAllocationPool", "spans beyond"},
		"pool backwards": {func(o *subnets.CreateOpts) { o.AllocationPools = pool("198.51.100.9", "198.51.100.2") }, 400, "InvalidAllocationPool", ""},
		"pools overlap": {func(o *subnets.CreateOpts) {
			o.AllocationPools = append(pool("198.51.100.2", "198.51.100.9"), pool("198.51.100.8", "198.51.100.20")...)
		}, 409, "OverlappingAllocationPools", ""},
		"no CIDR":           {func(o *subnets.CreateOpts) { o.CIDR = "hello" }, 400, "InvalidInput", "hello"},
		"version":           {func(o *subnets.CreateOpts) { o.CIDR = "2001:db8::/64" }, 400, "InvalidInput", "ip_version"},
		"unknown network":   {func(o *subnets.CreateOpts) { o.NetworkID = unknownID }, 404, "NetworkNotFound", unknownID},
		"nameserver":        {func(o *subnets.CreateOpts) { o.DNSNameservers = []string{"dns.example.org"} }, 400, "HTTPBadRequest", "dns.example.org"},
		"mode without IPv6": {func(o *subnets.CreateOpts) { o.IPv6RAMode = "slaac" }, 400, "InvalidInput", "ipv6_ra_mode"},
	} {
		o := base
		test.change(&o)
		_, err := subnets.Create(t.Context(), client, o).Extract()
		t.Run(name, func(t *testing.T) { wantNeutron(t, err, test.status, test.kind, test.message) })
	}
}

func TestSubnetInUse(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	network := neutronNetwork(t, client)
	subnet := neutronSubnet(t, client, network.ID, "192.0.2.0/24")
	port := neutronPort(t, client, ports.CreateOpts{NetworkID: network.ID})
	wantNeutron(t, subnets.Delete(t.Context(), client, subnet.ID).ExtractErr(), http.StatusConflict, "SubnetInUse",
		"One or more ports have an IP allocation from this subnet.")
	gone(t, ports.Delete(t.Context(), client, port.ID).ExtractErr())
	if err := subnets.Delete(t.Context(), client, subnet.ID).ExtractErr(); err != nil {
		t.Error(err)
	}
	_, err := subnets.Get(t.Context(), client, subnet.ID).Extract()
	wantNeutron(t, err, http.StatusNotFound, "SubnetNotFound", "Subnet "+subnet.ID+" could not be found.")
}

func TestSubnetIPv6(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	network := neutronNetwork(t, client)
	subnet := must[*subnets.Subnet](t)(subnets.Create(t.Context(), client, subnets.CreateOpts{NetworkID: network.ID, CIDR: "2001:db8:1::/64",
		IPVersion: gophercloud.IPv6, IPv6RAMode: "slaac", IPv6AddressMode: "slaac"}).Extract())
	port := neutronPort(t, client, ports.CreateOpts{NetworkID: network.ID, MACAddress: "fa:16:3e:01:02:03"})
	if subnet.GatewayIP != "2001:db8:1::" || len(port.FixedIPs) != 1 || port.FixedIPs[0].IPAddress != "2001:db8:1:0:f816:3eff:fe01:203" {
		t.Errorf("got gateway %s and addresses %v, want the one of RFC 4291", subnet.GatewayIP, port.FixedIPs)
	}
}
