package contract_test

import (
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

func neutronFloating(t *testing.T, client *gophercloud.ServiceClient, o floatingips.CreateOpts) *floatingips.FloatingIP {
	t.Helper()
	o.FloatingNetworkID = externalNetwork(t, client).ID
	floating := must[*floatingips.FloatingIP](t)(floatingips.Create(t.Context(), client, o).Extract())
	t.Cleanup(func() { gone(t, floatingips.Delete(cleanup(t), client, floating.ID).ExtractErr()) })
	return floating
}

// routed is a port behind a router with a gateway.
func routed(t *testing.T, client *gophercloud.ServiceClient, o ports.CreateOpts) (*ports.Port, *routers.Router) {
	t.Helper()
	o.NetworkID = neutronNetwork(t, client).ID
	subnet := neutronSubnet(t, client, o.NetworkID, "192.0.2.0/24")
	router := neutronRouter(t, client)
	neutronInterface(t, client, router.ID, subnet.ID)
	return neutronPort(t, client, o), router
}

func TestFloatingIPLife(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	port, router := routed(t, client, ports.CreateOpts{})
	floating := neutronFloating(t, client, floatingips.CreateOpts{Description: "one"})
	if floating.Status != "DOWN" || floating.PortID != "" || floating.RouterID != "" || floating.FloatingIP == "" {
		t.Errorf("got %+v, want one that is DOWN", floating)
	}
	floating = must[*floatingips.FloatingIP](t)(floatingips.Update(t.Context(), client, floating.ID, floatingips.UpdateOpts{PortID: &port.ID}).Extract())
	if floating.PortID != port.ID || floating.FixedIP != port.FixedIPs[0].IPAddress || floating.RouterID != router.ID {
		t.Errorf("got %+v, want port, its address and the router", floating)
	}
	eventually(t, "the floating IP becomes ACTIVE", func() bool {
		now, err := floatingips.Get(t.Context(), client, floating.ID).Extract()
		return err == nil && now.Status == "ACTIVE"
	})
	none := ""
	floating = must[*floatingips.FloatingIP](t)(floatingips.Update(t.Context(), client, floating.ID, floatingips.UpdateOpts{PortID: &none}).Extract())
	if floating.PortID != "" || floating.FixedIP != "" || floating.RouterID != "" {
		t.Errorf("got %+v after disassociation", floating)
	}
	eventually(t, "the floating IP becomes DOWN", func() bool {
		now, err := floatingips.Get(t.Context(), client, floating.ID).Extract()
		return err == nil && now.Status == "DOWN"
	})
	// The API reference: null, or no port_id at all. Cluster API's provider does the latter.
	must[*floatingips.FloatingIP](t)(floatingips.Update(t.Context(), client, floating.ID, floatingips.UpdateOpts{PortID: &port.ID}).Extract())
	floating = must[*floatingips.FloatingIP](t)(floatingips.Update(t.Context(), client, floating.ID, floatingips.UpdateOpts{}).Extract())
	if floating.PortID != "" {
		t.Errorf("got %+v after an update without port_id", floating)
	}
	_, err := floatingips.Get(t.Context(), client, unknownID).Extract()
	wantNeutron(t, err, http.StatusNotFound, "FloatingIPNotFound", "Floating IP "+unknownID+" could not be found")
}

func TestFloatingIPNeedsRouter(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	network := neutronNetwork(t, client)
	bare := neutronPort(t, client, ports.CreateOpts{NetworkID: network.ID})
	subnet := neutronSubnet(t, client, network.ID, "192.0.2.0/24")
	port := neutronPort(t, client, ports.CreateOpts{NetworkID: network.ID})
	floating := neutronFloating(t, client, floatingips.CreateOpts{})
	associate := func(portID, fixed string) error {
		_, err := floatingips.Update(t.Context(), client, floating.ID, floatingips.UpdateOpts{PortID: &portID, FixedIP: fixed}).Extract()
		return err
	}
	wantNeutron(t, associate(port.ID, ""), http.StatusNotFound, "ExternalGatewayForFloatingIPNotFound", "is not reachable from subnet "+subnet.ID)
	wantNeutron(t, associate(unknownID, ""), http.StatusNotFound, "PortNotFound", unknownID)
	wantNeutron(t, associate(port.ID, "192.0.2.200"), http.StatusBadRequest, "BadRequest", "does not have fixed ip 192.0.2.200")
	wantNeutron(t, associate(bare.ID, ""), http.StatusBadRequest, "BadRequest", "no fixed IPv4 addresses")
	_, err := floatingips.Create(t.Context(), client, floatingips.CreateOpts{FloatingNetworkID: network.ID}).Extract()
	wantNeutron(t, err, http.StatusBadRequest, "BadRequest", "is not a valid external network")
	_, err = floatingips.Create(t.Context(), client, floatingips.CreateOpts{FloatingNetworkID: unknownID}).Extract()
	wantNeutron(t, err, http.StatusNotFound, "NetworkNotFound", unknownID)
}

func TestFloatingIPHoldsWhatItNeeds(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	port, router := routed(t, client, ports.CreateOpts{})
	floating := neutronFloating(t, client, floatingips.CreateOpts{PortID: port.ID})
	_, err := routers.RemoveInterface(t.Context(), client, router.ID, routers.RemoveInterfaceOpts{SubnetID: port.FixedIPs[0].SubnetID}).Extract()
	wantNeutron(t, err, http.StatusConflict, "RouterInterfaceInUseByFloatingIP", "required by one or more floating IPs")
	_, err = routers.Update(t.Context(), client, router.ID, routers.UpdateOpts{GatewayInfo: &routers.GatewayInfo{}}).Extract()
	wantNeutron(t, err, http.StatusConflict, "RouterExternalGatewayInUseByFloatingIp", router.ID)
	second := neutronFloating(t, client, floatingips.CreateOpts{})
	_, err = floatingips.Update(t.Context(), client, second.ID, floatingips.UpdateOpts{PortID: &port.ID}).Extract()
	wantNeutron(t, err, http.StatusConflict, "FloatingIPPortAlreadyAssociated", "already has a floating IP on external network")

	if err := ports.Delete(t.Context(), client, port.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	now := must[*floatingips.FloatingIP](t)(floatingips.Get(t.Context(), client, floating.ID).Extract())
	if now.PortID != "" || now.RouterID != "" {
		t.Errorf("got %+v after its port was deleted", now)
	}
}

func TestFloatingIPFilters(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	port, router := routed(t, client, ports.CreateOpts{FixedIPs: []ports.IP{{IPAddress: "192.0.2.50"}, {IPAddress: "192.0.2.51"}}})
	_, err := floatingips.Create(t.Context(), client, floatingips.CreateOpts{FloatingNetworkID: externalNetwork(t, client).ID, PortID: port.ID}).Extract()
	wantNeutron(t, err, http.StatusBadRequest, "BadRequest", "has multiple fixed IPv4 addresses")
	floating := neutronFloating(t, client, floatingips.CreateOpts{PortID: port.ID, FixedIP: "192.0.2.51"})
	for name, filter := range map[string]floatingips.ListOpts{
		"port":    {PortID: port.ID},
		"address": {FloatingIP: floating.FloatingIP},
		"fixed":   {FixedIP: "192.0.2.51", RouterID: router.ID},
		"network": {FloatingNetworkID: floating.FloatingNetworkID, PortID: port.ID},
	} {
		pages, err := floatingips.List(client, filter).AllPages(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found := must[[]floatingips.FloatingIP](t)(floatingips.ExtractFloatingIPs(pages))
		if len(found) != 1 || found[0].ID != floating.ID {
			t.Errorf("%s: got %v", name, found)
		}
	}
}

func TestFloatingIPOfChosenAddress(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	public := externalNetwork(t, client)
	_, err := floatingips.Create(t.Context(), client, floatingips.CreateOpts{FloatingNetworkID: public.ID, FloatingIP: "198.51.100.1"}).Extract()
	wantNeutron(t, err, http.StatusForbidden, "PolicyNotAuthorized", "create_floatingip:floating_ip_address")
	taken := neutronFloating(t, client, floatingips.CreateOpts{})
	_, err = floatingips.Create(t.Context(), admin(t).Network(t), floatingips.CreateOpts{FloatingNetworkID: public.ID, FloatingIP: taken.FloatingIP}).Extract()
	wantNeutron(t, err, http.StatusConflict, "IpAddressAlreadyAllocated", taken.FloatingIP)
}
