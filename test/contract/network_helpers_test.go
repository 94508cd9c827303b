package contract_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
)

// wantNeutron checks status, type and a part of the message of an error.
func wantNeutron(t *testing.T, err error, status int, kind, message string) {
	t.Helper()
	var unexpected gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &unexpected) {
		t.Errorf("got %v, want %d %s", err, status, kind)
		return
	}
	var body struct {
		NeutronError struct{ Type, Message, Detail string }
	}
	if json.Unmarshal(unexpected.Body, &body) != nil || unexpected.Actual != status || body.NeutronError.Type != kind ||
		!strings.Contains(body.NeutronError.Message, message) {
		t.Errorf("got %d %s, want %d %s with %q", unexpected.Actual, unexpected.Body, status, kind, message)
	}
}

// neutronNetwork makes a network that is deleted at the end of the test.
func neutronNetwork(t *testing.T, client *gophercloud.ServiceClient) *networks.Network {
	t.Helper()
	network := must[*networks.Network](t)(networks.Create(t.Context(), client, networks.CreateOpts{Name: unique(t)}).Extract())
	t.Cleanup(func() { gone(t, networks.Delete(cleanup(t), client, network.ID).ExtractErr()) })
	return network
}

// gone checks that a deletion succeeded, or that the test had done it.
func gone(t *testing.T, err error) {
	t.Helper()
	if err != nil && !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		t.Errorf("cleaning up: %v", err)
	}
}

// neutronSubnet makes a subnet of the network; it goes with the network.
func neutronSubnet(t *testing.T, client *gophercloud.ServiceClient, networkID, cidr string) *subnets.Subnet {
	t.Helper()
	return must[*subnets.Subnet](t)(subnets.Create(t.Context(), client, subnets.CreateOpts{
		NetworkID: networkID, CIDR: cidr, IPVersion: gophercloud.IPv4, Name: unique(t)}).Extract())
}

// neutronPort makes a port that is deleted at the end of the test.
func neutronPort(t *testing.T, client *gophercloud.ServiceClient, o ports.CreateOptsBuilder) *ports.Port {
	t.Helper()
	port := must[*ports.Port](t)(ports.Create(t.Context(), client, o).Extract())
	t.Cleanup(func() { gone(t, ports.Delete(cleanup(t), client, port.ID).ExtractErr()) })
	return port
}

// externalNetwork is the network that routers and floating IPs use.
func externalNetwork(t *testing.T, client *gophercloud.ServiceClient) networks.Network {
	t.Helper()
	yes := true
	pages, err := networks.List(client, external.ListOptsExt{ListOptsBuilder: networks.ListOpts{}, External: &yes}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := must[[]networks.Network](t)(networks.ExtractNetworks(pages))
	if len(found) == 0 {
		t.Skip("the cloud has no external network")
	}
	return found[0]
}

// neutronRouter makes a router on the external network.
func neutronRouter(t *testing.T, client *gophercloud.ServiceClient) *routers.Router {
	t.Helper()
	router := must[*routers.Router](t)(routers.Create(t.Context(), client, routers.CreateOpts{
		Name: unique(t), GatewayInfo: &routers.GatewayInfo{NetworkID: externalNetwork(t, client).ID}}).Extract())
	t.Cleanup(func() { gone(t, routers.Delete(cleanup(t), client, router.ID).ExtractErr()) })
	return router
}

// neutronInterface plugs a router into a subnet until the end of the test.
func neutronInterface(t *testing.T, client *gophercloud.ServiceClient, routerID, subnetID string) *routers.InterfaceInfo {
	t.Helper()
	info := must[*routers.InterfaceInfo](t)(routers.AddInterface(t.Context(), client, routerID, routers.AddInterfaceOpts{SubnetID: subnetID}).Extract())
	t.Cleanup(func() {
		_, err := routers.RemoveInterface(cleanup(t), client, routerID, routers.RemoveInterfaceOpts{SubnetID: subnetID}).Extract()
		gone(t, err)
	})
	return info
}
