package network_test

import (
	"errors"
	"testing"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/network"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

const projectID = "11111111111111111111111111111111"

// rig is a cloud with a network, subnet and router of a project, made without
// HTTP as other services do.
type rig struct {
	cloud  *sandboxtest.Cloud
	core   *network.Core
	tables model.Networking
	net    model.Network
	subnet model.Subnet
}

func newRig(t *testing.T) *rig {
	t.Helper()
	cloud := sandboxtest.Start(t)
	g := &rig{cloud: cloud, core: network.NewCore(cloud.Env), tables: cloud.Env.Model.Network}
	g.net = model.Network{NetworkMeta: model.NetworkMeta{ID: model.NewID(), ProjectID: projectID}, Name: "inner",
		AdminStateUp: true, Status: "ACTIVE", PortSecurity: true, MTU: 1442, ProviderType: "geneve"}
	gateway := "192.0.2.1"
	g.subnet = model.Subnet{NetworkMeta: model.NetworkMeta{ID: model.NewID(), ProjectID: projectID}, NetworkID: g.net.ID, IPVersion: 4,
		CIDR: "192.0.2.0/24", Gateway: &gateway, DHCP: true, Nameservers: []string{"198.51.100.1"},
		HostRoutes: []model.HostRoute{{Destination: "203.0.113.0/24", NextHop: "192.0.2.9"}},
		Pools:      []model.AllocationPool{{Start: "192.0.2.10", End: "192.0.2.12"}}}
	g.update(t, func(tx *store.Tx) error {
		g.tables.Networks.Put(tx, g.net)
		g.tables.Subnets.Put(tx, g.subnet)
		return nil
	})
	return g
}

func (g *rig) update(t *testing.T, fn func(tx *store.Tx) error) {
	t.Helper()
	if err := g.cloud.Env.Store.Update(fn); err != nil {
		t.Fatal(err)
	}
}

func (g *rig) port(t *testing.T, id string) (model.Port, bool) {
	t.Helper()
	var port model.Port
	var ok bool
	g.update(t, func(tx *store.Tx) error {
		port, ok = g.tables.Ports.Get(tx, id)
		return nil
	})
	return port, ok
}

func (g *rig) allocate(t *testing.T, spec network.PortSpec) model.Port {
	t.Helper()
	spec.ProjectID, spec.NetworkID = projectID, g.net.ID
	var port model.Port
	g.update(t, func(tx *store.Tx) (err error) {
		port, err = g.core.Allocate(tx, nil, spec)
		return err
	})
	return port
}

func wantKind(t *testing.T, err error, kind string) {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Errorf("got %v, want %s", err, kind)
	}
}

func TestAllocateBindRelease(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	port := g.allocate(t, network.PortSpec{Binding: network.Binding{DeviceID: "server", DeviceOwner: "compute:nova", DNSName: "Web_1"}})
	if port.FixedIPs[0].IPAddress != "192.0.2.10" || len(port.Groups) != 1 || port.Status != "DOWN" || port.DNSName != "" {
		t.Fatalf("got %+v", port)
	}
	g.update(t, func(tx *store.Tx) error {
		_, err := g.core.Bind(tx, port.ID, network.Binding{DeviceID: "another"})
		wantKind(t, err, "PortInUse")
		_, err = g.core.Bind(tx, "nothing", network.Binding{})
		wantKind(t, err, "PortNotFound")
		_, err = g.core.Bind(tx, port.ID, network.Binding{DeviceID: "server", DeviceOwner: "compute:nova", HostID: "host", DNSName: "web-1"})
		return err
	})
	eventually(t, "the port becomes ACTIVE", func() bool {
		now, _ := g.port(t, port.ID)
		return now.Status == "ACTIVE" && now.Pending == nil && now.DNSName == "web-1"
	})
	g.update(t, func(tx *store.Tx) error {
		g.core.Unbind(tx, port.ID)
		return nil
	})
	if now, _ := g.port(t, port.ID); now.Status != "DOWN" || now.DeviceID != "" || now.HostID != "" {
		t.Errorf("got %+v after Unbind", now)
	}
	g.update(t, func(tx *store.Tx) error { return g.core.Release(tx, port.ID) })
	if _, ok := g.port(t, port.ID); ok {
		t.Error("the port is still there after Release")
	}
	g.update(t, func(tx *store.Tx) error { return g.core.Release(tx, port.ID) })
}

func TestAllocateRunsOut(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for range 3 {
		g.allocate(t, network.PortSpec{})
	}
	err := g.cloud.Env.Store.Update(func(tx *store.Tx) error {
		_, err := g.core.Allocate(tx, nil, network.PortSpec{ProjectID: projectID, NetworkID: g.net.ID})
		return err
	})
	wantKind(t, err, "IpAddressGenerationFailure")
}

func TestAllocateOverQuota(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.update(t, func(tx *store.Tx) error {
		g.cloud.Env.Model.Quotas.Set.Put(tx, model.Quota{ProjectID: projectID, Service: "network", Limits: map[string]int{"port": 0}})
		_, err := g.core.Allocate(tx, nil, network.PortSpec{ProjectID: projectID, NetworkID: g.net.ID})
		wantKind(t, err, "OverQuota")
		_, err = g.core.Allocate(tx, nil, network.PortSpec{ProjectID: projectID, NetworkID: g.net.ID, NoQuota: true})
		if limit, used := g.core.UsesQuota(tx, projectID, "port"); limit != 0 || used != 1 {
			t.Errorf("got limit %d and %d used, want 0 and 1", limit, used)
		}
		return err
	})
}

func TestCardSaysWhatAMachineNeeds(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	port := g.allocate(t, network.PortSpec{})
	g.update(t, func(tx *store.Tx) error {
		card, ok := g.core.Card(tx, port.ID)
		if !ok || card.MTU != 1442 || card.MAC != port.MAC || len(card.Addresses) != 1 {
			t.Fatalf("got %+v", card)
		}
		a := card.Addresses[0]
		if a.Prefix.String() != "192.0.2.10/24" || a.Gateway.String() != "192.0.2.1" || !a.DHCP ||
			a.Nameservers[0].String() != "198.51.100.1" || a.Routes[0].Via.String() != "192.0.2.9" {
			t.Errorf("got %+v", a)
		}
		if _, ok := g.core.Card(tx, "nothing"); ok {
			t.Error("a port that does not exist has a card")
		}
		return nil
	})
}

func TestFloatingIPOfADevice(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	port := g.allocate(t, network.PortSpec{Binding: network.Binding{DeviceID: "server"}})
	var public model.Network
	floating := model.FloatingIP{NetworkMeta: model.NetworkMeta{ID: model.NewID(), ProjectID: projectID}, IPAddress: "172.24.4.99", Status: "DOWN"}
	g.update(t, func(tx *store.Tx) error {
		for public = range g.tables.Networks.All(tx) {
			break // the external network is the oldest
		}
		floating.NetworkID = public.ID
		g.tables.FloatingIPs.Put(tx, floating)
		wantKind(t, g.core.Associate(tx, nil, floating.ID, port.ID, ""), "ExternalGatewayForFloatingIPNotFound")
		router := model.Router{NetworkMeta: model.NetworkMeta{ID: model.NewID(), ProjectID: projectID}, Gateway: &model.Gateway{NetworkID: public.ID}}
		g.tables.Routers.Put(tx, router)
		g.tables.Ports.Put(tx, model.Port{NetworkMeta: model.NetworkMeta{ID: model.NewID()}, NetworkID: g.net.ID, DeviceID: router.ID,
			DeviceOwner: model.OwnerRouterInterface, FixedIPs: []model.FixedIP{{SubnetID: g.subnet.ID, IPAddress: "192.0.2.1"}}})
		return g.core.Associate(tx, nil, floating.ID, port.ID, "")
	})
	g.update(t, func(tx *store.Tx) error {
		addresses := g.core.Addresses(tx, "server")
		if len(addresses) != 2 || addresses[0].Floating || !addresses[1].Floating || addresses[1].IP != "172.24.4.99" || addresses[0].NetworkName != "inner" {
			t.Errorf("got %+v", addresses)
		}
		found, err := g.core.FloatingIP(tx, projectID, "172.24.4.99")
		if err != nil || found.RouterID == nil {
			t.Errorf("got %+v and %v", found, err)
		}
		_, err = g.core.FloatingIP(tx, "another", "172.24.4.99")
		wantKind(t, err, "FloatingIPNotFound")
		return g.core.Release(tx, port.ID)
	})
	g.update(t, func(tx *store.Tx) error {
		if now, _ := g.tables.FloatingIPs.Get(tx, floating.ID); now.PortID != nil || now.Status != "DOWN" {
			t.Errorf("got %+v after its port was released", now)
		}
		return nil
	})
}

func TestSecurityGroupByName(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	port := g.allocate(t, network.PortSpec{Groups: []string{}})
	g.update(t, func(tx *store.Tx) error {
		group, err := g.core.SecurityGroup(tx, projectID, "default")
		if err != nil || len(port.Groups) != 0 {
			t.Fatalf("got %v, %v", port.Groups, err)
		}
		if err := g.core.SetGroups(tx, port.ID, []string{group.ID}); err != nil {
			t.Error(err)
		}
		_, err = g.core.SecurityGroup(tx, projectID, "web")
		wantKind(t, err, "SecurityGroupNotFound")
		wantKind(t, g.core.SetGroups(tx, port.ID, []string{"nothing"}), "SecurityGroupNotFound")
		for range 2 {
			g.tables.Groups.Put(tx, model.SecurityGroup{NetworkMeta: model.NetworkMeta{ID: model.NewID(), ProjectID: projectID}, Name: "web"})
		}
		if _, err = g.core.SecurityGroup(tx, projectID, "web"); err == nil {
			t.Error("one of two groups of a name was chosen")
		}
		return nil
	})
}

func TestAvailableNetworks(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.update(t, func(tx *store.Tx) error {
		empty := g.net
		empty.ID = model.NewID()
		g.tables.Networks.Put(tx, empty)
		if found := g.core.Available(tx, projectID); len(found) != 1 || found[0].ID != g.net.ID {
			t.Errorf("got %+v, want the network with a subnet and not the external one", found)
		}
		return nil
	})
}
