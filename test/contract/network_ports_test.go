package contract_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/portsbinding"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/portsecurity"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/trunks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
)

func TestPortDefaults(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	network := neutronNetwork(t, client)
	subnet := neutronSubnet(t, client, network.ID, "192.0.2.0/24")
	made := neutronPort(t, client, ports.CreateOpts{NetworkID: network.ID, Name: unique(t)})
	var port struct {
		ports.Port
		portsecurity.PortSecurityExt
		portsbinding.PortsBindingExt
	}
	if err := ports.Get(t.Context(), client, made.ID).ExtractInto(&port); err != nil {
		t.Fatal(err)
	}
	if port.Status != "DOWN" || !port.AdminStateUp || !port.PortSecurityEnabled || port.DeviceID != "" || len(port.AllowedAddressPairs) != 0 {
		t.Errorf("got %+v, want a port that is DOWN and of no device", port)
	}
	if !strings.HasPrefix(port.MACAddress, "fa:16:3e:") || len(port.FixedIPs) != 1 || port.FixedIPs[0].SubnetID != subnet.ID {
		t.Errorf("got MAC %s and addresses %v", port.MACAddress, port.FixedIPs)
	}
	if port.VNICType != "normal" || port.HostID != "" || port.VIFType != "" {
		t.Errorf("a member sees the binding %+v", port.PortsBindingExt)
	}
	if len(port.SecurityGroups) != 1 || defaultSecurityGroup(t, client).ID != port.SecurityGroups[0] {
		t.Errorf("got security groups %v, want the project's default", port.SecurityGroups)
	}
}

func defaultSecurityGroup(t *testing.T, client *gophercloud.ServiceClient) groups.SecGroup {
	t.Helper()
	pages, err := groups.List(client, groups.ListOpts{Name: "default"}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := must[[]groups.SecGroup](t)(groups.ExtractGroups(pages))
	if len(found) == 0 {
		t.Fatal("the project has no default security group")
	}
	return found[0]
}

func TestPortAddresses(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	network, other := neutronNetwork(t, client), neutronNetwork(t, client)
	subnet := neutronSubnet(t, client, network.ID, "192.0.2.0/24")
	foreign := neutronSubnet(t, client, other.ID, "198.51.100.0/24")
	held := neutronPort(t, client, ports.CreateOpts{NetworkID: network.ID, FixedIPs: []ports.IP{{SubnetID: subnet.ID, IPAddress: "192.0.2.77"}}})
	if held.FixedIPs[0].IPAddress != "192.0.2.77" {
		t.Errorf("got %v", held.FixedIPs)
	}
	for name, test := range map[string]struct {
		o       ports.CreateOpts
		status  int
		kind    string
		message string
	}{
		"taken":          {ports.CreateOpts{FixedIPs: []ports.IP{{IPAddress: "192.0.2.77"}}}, 409, "IpAddressAlreadyAllocated", "192.0.2.77"},
		"not in subnet":  {ports.CreateOpts{FixedIPs: []ports.IP{{SubnetID: subnet.ID, IPAddress: "198.51.100.9"}}}, 400, "InvalidIpForSubnet", "198.51.100.9"},
		"not in network": {ports.CreateOpts{FixedIPs: []ports.IP{{IPAddress: "203.0.113.9"}}}, 400, "InvalidIpForNetwork", "203.0.113.9"},
		"broadcast":      {ports.CreateOpts{FixedIPs: []ports.IP{{IPAddress: "192.0.2.255"}}}, 400, "InvalidIpForNetwork", "192.0.2.255"},
		"other network":  {ports.CreateOpts{FixedIPs: []ports.IP{{SubnetID: foreign.ID}}}, 400, "InvalidInput", foreign.ID},
		"no subnet":      {ports.CreateOpts{FixedIPs: []ports.IP{{SubnetID: unknownID}}}, 404, "SubnetNotFound", unknownID},
		"MAC in use":     {ports.CreateOpts{MACAddress: held.MACAddress}, 409, "MacAddressInUse", held.MACAddress},
		"no MAC":         {ports.CreateOpts{MACAddress: "hello"}, 400, "HTTPBadRequest", "hello"},
		"no group":       {ports.CreateOpts{SecurityGroups: &[]string{unknownID}}, 404, "SecurityGroupNotFound", unknownID},
	} {
		test.o.NetworkID = network.ID
		_, err := ports.Create(t.Context(), client, test.o).Extract()
		t.Run(name, func(t *testing.T) { wantNeutron(t, err, test.status, test.kind, test.message) })
	}
}

func TestPortAddressesRunOut(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	network := neutronNetwork(t, client)
	neutronSubnet(t, client, network.ID, "192.0.2.0/30")
	port := neutronPort(t, client, ports.CreateOpts{NetworkID: network.ID})
	if port.FixedIPs[0].IPAddress != "192.0.2.2" {
		t.Errorf("got %v, want the only address left", port.FixedIPs)
	}
	_, err := ports.Create(t.Context(), client, ports.CreateOpts{NetworkID: network.ID}).Extract()
	wantNeutron(t, err, http.StatusConflict, "IpAddressGenerationFailure", "No more IP addresses available on network "+network.ID)
	gone(t, ports.Delete(t.Context(), client, port.ID).ExtractErr())
	neutronPort(t, client, ports.CreateOpts{NetworkID: network.ID})
}

func TestPortUpdate(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	network := neutronNetwork(t, client)
	subnet := neutronSubnet(t, client, network.ID, "192.0.2.0/24")
	port := neutronPort(t, client, ports.CreateOpts{NetworkID: network.ID})
	device, none := "a-device", []string{}
	pairs := []ports.AddressPair{{IPAddress: "192.0.2.240"}, {IPAddress: "198.51.100.0/24", MACAddress: "fa:16:3e:00:00:01"}}
	updated := must[*ports.Port](t)(ports.Update(t.Context(), client, port.ID, ports.UpdateOpts{DeviceID: &device, SecurityGroups: &none,
		AllowedAddressPairs: &pairs, FixedIPs: []ports.IP{{SubnetID: subnet.ID, IPAddress: "192.0.2.9"}, {SubnetID: subnet.ID}}}).Extract())
	pairs[0].MACAddress = port.MACAddress
	slices.SortFunc(updated.AllowedAddressPairs, func(a, b ports.AddressPair) int { return strings.Compare(a.IPAddress, b.IPAddress) })
	if updated.DeviceID != device || len(updated.SecurityGroups) != 0 || !slices.Equal(updated.AllowedAddressPairs, pairs) ||
		len(updated.FixedIPs) != 2 || !slices.ContainsFunc(updated.FixedIPs, func(ip ports.IP) bool { return ip.IPAddress == "192.0.2.9" }) {
		t.Errorf("got %+v", updated)
	}
	var body map[string]any
	no := false
	err := ports.Update(t.Context(), client, port.ID, portsecurity.PortUpdateOptsExt{UpdateOptsBuilder: ports.UpdateOpts{}, PortSecurityEnabled: &no}).ExtractInto(&body)
	wantNeutron(t, err, http.StatusConflict, "AddressPairAndPortSecurityRequired", "allowed address pairs")
	standard := []string{defaultSecurityGroup(t, client).ID}
	must[*ports.Port](t)(ports.Update(t.Context(), client, port.ID, ports.UpdateOpts{SecurityGroups: &standard, AllowedAddressPairs: &[]ports.AddressPair{}}).Extract())
	err = ports.Update(t.Context(), client, port.ID, portsecurity.PortUpdateOptsExt{UpdateOptsBuilder: ports.UpdateOpts{}, PortSecurityEnabled: &no}).ExtractInto(&body)
	wantNeutron(t, err, http.StatusConflict, "PortSecurityPortHasSecurityGroup", "security group")
	_, err = ports.Get(t.Context(), client, unknownID).Extract()
	wantNeutron(t, err, http.StatusNotFound, "PortNotFound", "Port "+unknownID+" could not be found.")
}

func TestPortFilters(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	network := neutronNetwork(t, client)
	subnet := neutronSubnet(t, client, network.ID, "192.0.2.0/24")
	first := neutronPort(t, client, ports.CreateOpts{NetworkID: network.ID, Name: unique(t), DeviceID: unique(t), FixedIPs: []ports.IP{{IPAddress: "192.0.2.40"}}})
	second := neutronPort(t, client, ports.CreateOpts{NetworkID: network.ID, Name: unique(t), SecurityGroups: &[]string{}})
	for name, test := range map[string]struct {
		filter ports.ListOpts
		want   []string
	}{
		"network":  {ports.ListOpts{NetworkID: network.ID}, []string{first.ID, second.ID}},
		"device":   {ports.ListOpts{DeviceID: first.DeviceID}, []string{first.ID}},
		"name":     {ports.ListOpts{Name: second.Name}, []string{second.ID}},
		"MAC":      {ports.ListOpts{MACAddress: second.MACAddress}, []string{second.ID}},
		"address":  {ports.ListOpts{NetworkID: network.ID, FixedIPs: []ports.FixedIPOpts{{IPAddress: "192.0.2.40"}}}, []string{first.ID}},
		"part":     {ports.ListOpts{NetworkID: network.ID, FixedIPs: []ports.FixedIPOpts{{IPAddressSubstr: "2.40"}}}, []string{first.ID}},
		"subnet":   {ports.ListOpts{FixedIPs: []ports.FixedIPOpts{{SubnetID: subnet.ID}}}, []string{first.ID, second.ID}},
		"group":    {ports.ListOpts{NetworkID: network.ID, SecurityGroups: first.SecurityGroups}, []string{first.ID}},
		"status":   {ports.ListOpts{NetworkID: network.ID, Status: "ACTIVE"}, nil},
		"both not": {ports.ListOpts{NetworkID: network.ID, DeviceID: "nothing"}, nil},
	} {
		pages, err := ports.List(client, test.filter).AllPages(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, port := range must[[]ports.Port](t)(ports.ExtractPorts(pages)) {
			got = append(got, port.ID)
		}
		slices.Sort(got)
		slices.Sort(test.want)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

func TestTrunk(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	network := neutronNetwork(t, client)
	neutronSubnet(t, client, network.ID, "192.0.2.0/24")
	parent := neutronPort(t, client, ports.CreateOpts{NetworkID: network.ID})
	sub := neutronPort(t, client, ports.CreateOpts{NetworkID: network.ID})
	late := neutronPort(t, client, ports.CreateOpts{NetworkID: network.ID})
	trunk := must[*trunks.Trunk](t)(trunks.Create(t.Context(), client, trunks.CreateOpts{Name: unique(t), PortID: parent.ID,
		Subports: []trunks.Subport{{PortID: sub.ID, SegmentationType: "vlan", SegmentationID: 10}}}).Extract())
	t.Cleanup(func() { gone(t, trunks.Delete(cleanup(t), client, trunk.ID).ExtractErr()) })
	_, err := trunks.Create(t.Context(), client, trunks.CreateOpts{PortID: parent.ID}).Extract()
	wantNeutron(t, err, http.StatusConflict, "ParentPortInUse", parent.ID)
	_, err = trunks.AddSubports(t.Context(), client, trunk.ID, trunks.AddSubportsOpts{
		Subports: []trunks.Subport{{PortID: late.ID, SegmentationType: "vlan", SegmentationID: 10}}}).Extract()
	wantNeutron(t, err, http.StatusConflict, "DuplicateSubPort", "segmentation_id 10")
	wantNeutron(t, ports.Delete(t.Context(), client, parent.ID).ExtractErr(), http.StatusConflict, "PortInUseAsTrunkParent", trunk.ID)
	wantNeutron(t, ports.Delete(t.Context(), client, sub.ID).ExtractErr(), http.StatusConflict, "PortInUseAsSubPort", trunk.ID)
	if err := trunks.Delete(t.Context(), client, trunk.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	_, err = trunks.Get(t.Context(), client, trunk.ID).Extract()
	wantNeutron(t, err, http.StatusNotFound, "TrunkNotFound", trunk.ID)
}

func TestSubnetGatewayMayNotMoveFromItsRouter(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	network := neutronNetwork(t, client)
	subnet := neutronSubnet(t, client, network.ID, "192.0.2.0/24")
	router := neutronRouter(t, client)
	neutronInterface(t, client, router.ID, subnet.ID)
	other := "192.0.2.254"
	_, err := subnets.Update(t.Context(), client, subnet.ID, subnets.UpdateOpts{GatewayIP: &other}).Extract()
	wantNeutron(t, err, http.StatusConflict, "GatewayIpInUse", "192.0.2.1")
}
