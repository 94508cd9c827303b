package contract_test

import (
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/extraroutes"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

func TestRouterGateway(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	router := neutronRouter(t, client)
	gateway := router.GatewayInfo
	if router.Status != "ACTIVE" || !router.AdminStateUp || gateway.EnableSNAT == nil || !*gateway.EnableSNAT || len(gateway.ExternalFixedIPs) == 0 {
		t.Errorf("got %+v, want an active router with SNAT and an address", router)
	}
	cleared := must[*routers.Router](t)(routers.Update(t.Context(), client, router.ID, routers.UpdateOpts{GatewayInfo: &routers.GatewayInfo{}}).Extract())
	if cleared.GatewayInfo.NetworkID != "" {
		t.Errorf("got %+v after the gateway was cleared", cleared.GatewayInfo)
	}
	inner := neutronNetwork(t, client)
	_, err := routers.Update(t.Context(), client, router.ID, routers.UpdateOpts{GatewayInfo: &routers.GatewayInfo{NetworkID: inner.ID}}).Extract()
	wantNeutron(t, err, http.StatusBadRequest, "BadRequest", "is not an external network")
	_, err = routers.Get(t.Context(), client, unknownID).Extract()
	wantNeutron(t, err, http.StatusNotFound, "RouterNotFound", "Router "+unknownID+" could not be found")
	no := false
	_, err = routers.Update(t.Context(), client, router.ID, routers.UpdateOpts{GatewayInfo: &routers.GatewayInfo{
		NetworkID: gateway.NetworkID, EnableSNAT: &no}}).Extract()
	wantNeutron(t, err, http.StatusForbidden, "PolicyNotAuthorized", "enable_snat")
}

func TestRouterInterface(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	network := neutronNetwork(t, client)
	subnet := neutronSubnet(t, client, network.ID, "192.0.2.0/24")
	router := neutronRouter(t, client)
	info := neutronInterface(t, client, router.ID, subnet.ID)
	if info.ID != router.ID || info.SubnetID != subnet.ID || info.PortID == "" {
		t.Errorf("got %+v", info)
	}
	eventually(t, "the interface becomes ACTIVE", func() bool {
		port, err := ports.Get(t.Context(), client, info.PortID).Extract()
		return err == nil && port.Status == "ACTIVE" && port.DeviceOwner == "network:router_interface" &&
			port.DeviceID == router.ID && port.FixedIPs[0].IPAddress == "192.0.2.1"
	})
	_, err := routers.AddInterface(t.Context(), client, router.ID, routers.AddInterfaceOpts{SubnetID: subnet.ID}).Extract()
	wantNeutron(t, err, http.StatusBadRequest, "BadRequest", "Router already has a port on subnet "+subnet.ID)
	wantNeutron(t, ports.Delete(t.Context(), client, info.PortID).ExtractErr(), http.StatusConflict, "ServicePortInUse", "network:router_interface")
	wantNeutron(t, routers.Delete(t.Context(), client, router.ID).ExtractErr(), http.StatusConflict, "RouterInUse", "ports still attached: "+info.PortID)

	overlapping := neutronSubnet(t, client, neutronNetwork(t, client).ID, "192.0.2.128/25")
	_, err = routers.AddInterface(t.Context(), client, router.ID, routers.AddInterfaceOpts{SubnetID: overlapping.ID}).Extract()
	wantNeutron(t, err, http.StatusBadRequest, "BadRequest", "overlaps with cidr")
	_, err = routers.RemoveInterface(t.Context(), client, router.ID, routers.RemoveInterfaceOpts{SubnetID: overlapping.ID}).Extract()
	wantNeutron(t, err, http.StatusNotFound, "RouterInterfaceNotFoundForSubnet", overlapping.ID)
	_, err = routers.RemoveInterface(t.Context(), client, router.ID, routers.RemoveInterfaceOpts{PortID: unknownID}).Extract()
	wantNeutron(t, err, http.StatusNotFound, "RouterInterfaceNotFound", unknownID)
	_, err = routers.AddInterface(t.Context(), client, router.ID, routers.AddInterfaceOpts{SubnetID: unknownID}).Extract()
	wantNeutron(t, err, http.StatusNotFound, "SubnetNotFound", unknownID)
	must[*routers.InterfaceInfo](t)(routers.RemoveInterface(t.Context(), client, router.ID, routers.RemoveInterfaceOpts{SubnetID: subnet.ID}).Extract())
	_, err = ports.Get(t.Context(), client, info.PortID).Extract()
	wantNeutron(t, err, http.StatusNotFound, "PortNotFound", info.PortID)
}

func TestRouterInterfaceByPort(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	network := neutronNetwork(t, client)
	neutronSubnet(t, client, network.ID, "192.0.2.0/24")
	router := neutronRouter(t, client)
	port := neutronPort(t, client, ports.CreateOpts{NetworkID: network.ID, FixedIPs: []ports.IP{{IPAddress: "192.0.2.99"}}})
	must[*routers.InterfaceInfo](t)(routers.AddInterface(t.Context(), client, router.ID, routers.AddInterfaceOpts{PortID: port.ID}).Extract())
	_, err := routers.AddInterface(t.Context(), client, router.ID, routers.AddInterfaceOpts{PortID: port.ID}).Extract()
	wantNeutron(t, err, http.StatusConflict, "PortInUse", router.ID)
	must[*routers.InterfaceInfo](t)(routers.RemoveInterface(t.Context(), client, router.ID, routers.RemoveInterfaceOpts{PortID: port.ID}).Extract())
}

func TestRouterRoutes(t *testing.T) {
	t.Parallel()
	client := member(t).Network(t)
	network := neutronNetwork(t, client)
	subnet := neutronSubnet(t, client, network.ID, "192.0.2.0/24")
	router := neutronRouter(t, client)
	neutronInterface(t, client, router.ID, subnet.ID)
	route := func(destination, hop string) []routers.Route {
		return []routers.Route{{DestinationCIDR: destination, NextHop: hop}}
	}
	set := func(routes []routers.Route) (*routers.Router, error) {
		return routers.Update(t.Context(), client, router.ID, routers.UpdateOpts{Routes: &routes}).Extract()
	}
	_, err := set(route("198.51.100.0/24", "203.0.113.1"))
	wantNeutron(t, err, http.StatusBadRequest, "InvalidRoutes", "the nexthop is not connected with router")
	_, err = set(route("198.51.100.0/24", "192.0.2.1"))
	wantNeutron(t, err, http.StatusBadRequest, "InvalidRoutes", "the nexthop is used by router")
	must[*routers.Router](t)(set(route("198.51.100.0/24", "192.0.2.10")))
	_, err = routers.RemoveInterface(t.Context(), client, router.ID, routers.RemoveInterfaceOpts{SubnetID: subnet.ID}).Extract()
	wantNeutron(t, err, http.StatusConflict, "RouterInterfaceInUseByRoute", subnet.ID)

	added := route("203.0.113.0/24", "192.0.2.11")
	router = must[*routers.Router](t)(extraroutes.Add(t.Context(), client, router.ID, extraroutes.Opts{Routes: &added}).Extract())
	if len(router.Routes) != 2 {
		t.Errorf("got %v, want both routes", router.Routes)
	}
	router = must[*routers.Router](t)(extraroutes.Remove(t.Context(), client, router.ID, extraroutes.Opts{Routes: &added}).Extract())
	if len(router.Routes) != 1 || router.Routes[0].DestinationCIDR != "198.51.100.0/24" {
		t.Errorf("got %v, want the first route", router.Routes)
	}
	must[*routers.Router](t)(set([]routers.Route{}))
}

func TestRouterIsOfItsProject(t *testing.T) {
	t.Parallel()
	boss := admin(t).Network(t)
	theirs := must[*routers.Router](t)(routers.Create(t.Context(), boss, routers.CreateOpts{Name: unique(t)}).Extract())
	t.Cleanup(func() { gone(t, routers.Delete(cleanup(t), boss, theirs.ID).ExtractErr()) })
	client := member(t).Network(t)
	_, err := routers.Get(t.Context(), client, theirs.ID).Extract()
	wantNeutron(t, err, http.StatusNotFound, "RouterNotFound", theirs.ID)
	_, err = routers.AddInterface(t.Context(), client, theirs.ID, routers.AddInterfaceOpts{SubnetID: unknownID}).Extract()
	if !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		t.Errorf("got %v, want 404", err)
	}
}
