package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/external"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ownership"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

// service is what the cloud controller manager makes for a Service of type
// LoadBalancer on a cluster: the ids of load balancer, floating IP and security
// group, the last at a port of the network that is described as a node's.
func service(t *testing.T, cloud *sandboxtest.Cloud, cluster, networkID, subnetID, node string) []string {
	t.Helper()
	balancing, network := cloud.Member.LoadBalancer(t), cloud.Member.Network(t)
	b, err := loadbalancers.Create(t.Context(), balancing, loadbalancers.CreateOpts{Name: "kube_service_" + cluster + "_default_web", VipSubnetID: subnetID}).Extract()
	check(t, err)
	f, err := floatingips.Create(t.Context(), network, floatingips.CreateOpts{FloatingNetworkID: publicNetwork(t, network), PortID: b.VipPortID,
		Description: "Floating IP for Kubernetes external service default/web from cluster " + cluster}).Extract()
	check(t, err)
	g, err := groups.Create(t.Context(), network, groups.CreateOpts{Name: "lb-sg-1-default-web",
		Description: "Security Group for default/web Service LoadBalancer in cluster " + cluster}).Extract()
	check(t, err)
	_, err = ports.Create(t.Context(), network, ports.CreateOpts{Name: "node", Description: node, NetworkID: networkID, SecurityGroups: &[]string{g.ID}}).Extract()
	check(t, err)
	return []string{b.ID, f.ID, g.ID}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func publicNetwork(t *testing.T, client *gophercloud.ServiceClient) string {
	t.Helper()
	yes := true
	pages, err := networks.List(client, external.ListOptsExt{ListOptsBuilder: networks.ListOpts{}, External: &yes}).AllPages(t.Context())
	check(t, err)
	list, err := networks.ExtractNetworks(pages)
	if err != nil || len(list) == 0 {
		t.Fatalf("no external network: %v", err)
	}
	return list[0].ID
}

// lookalikes are a network of somebody else with what a cluster of the same name
// has on it, and things whose names are like the environment's.
func lookalikes(t *testing.T, cloud *sandboxtest.Cloud, name string) (left func() []string) {
	t.Helper()
	client, storage := cloud.Member.Network(t), cloud.Member.BlockStorage(t)
	n, err := networks.Create(t.Context(), client, networks.CreateOpts{Name: name + "-foo"}).Extract()
	check(t, err)
	s, err := subnets.Create(t.Context(), client, subnets.CreateOpts{Name: name + "-foo", NetworkID: n.ID, CIDR: "10.77.0.0/24", IPVersion: 4}).Extract()
	check(t, err)
	r, err := routers.Create(t.Context(), client, routers.CreateOpts{Name: name + "-foo", GatewayInfo: &routers.GatewayInfo{NetworkID: publicNetwork(t, client)}}).Extract()
	check(t, err)
	_, err = routers.AddInterface(t.Context(), client, r.ID, routers.AddInterfaceOpts{SubnetID: s.ID}).Extract()
	check(t, err)
	theirs := service(t, cloud, name, n.ID, s.ID, "theirs")
	down, err := floatingips.Create(t.Context(), client, floatingips.CreateOpts{FloatingNetworkID: publicNetwork(t, client)}).Extract()
	check(t, err)
	unattached, err := groups.Create(t.Context(), client, groups.CreateOpts{Name: "lb-sg-2", Description: "Security Group for default/api Service LoadBalancer in cluster " + name}).Extract()
	check(t, err)
	v, err := volumes.Create(t.Context(), storage, volumes.CreateOpts{Name: "pvc-0b9f5cd4", Size: 1}, nil).Extract()
	check(t, err)
	return func() (missing []string) {
		_, noNetwork := networks.Get(t.Context(), client, n.ID).Extract()
		_, noRouter := routers.Get(t.Context(), client, r.ID).Extract()
		_, noAddress := floatingips.Get(t.Context(), client, down.ID).Extract()
		_, noGroup := groups.Get(t.Context(), client, unattached.ID).Extract()
		_, noVolume := volumes.Get(t.Context(), storage, v.ID).Extract()
		for what, err := range map[string]error{"network": noNetwork, "router": noRouter, "floating IP": noAddress, "security group": noGroup, "volume": noVolume} {
			if err != nil {
				missing = append(missing, what+": "+err.Error())
			}
		}
		return append(missing, gone(t, cloud, theirs)...)
	}
}

// gone are those of a Service's things that are not there.
func gone(t *testing.T, cloud *sandboxtest.Cloud, service []string) (list []string) {
	t.Helper()
	client := cloud.Member.Network(t)
	if _, err := loadbalancers.Get(t.Context(), cloud.Member.LoadBalancer(t), service[0]).Extract(); err != nil {
		list = append(list, "load balancer")
	}
	if _, err := floatingips.Get(t.Context(), client, service[1]).Extract(); err != nil {
		list = append(list, "its floating IP")
	}
	if _, err := groups.Get(t.Context(), client, service[2]).Extract(); err != nil {
		list = append(list, "its security group")
	}
	return list
}

// TestWhatServicesLeftGoesByWhoseNetworkItIsOn loses the state and the seed of an
// environment whose cluster had a Service: a load balancer then keeps the network
// from going. It is found by its name and its network; what a cluster of the same
// name has elsewhere in the project, and what only looks like the environment's,
// stays.
//
// proves: S-73, S-74
func TestWhatServicesLeftGoesByWhoseNetworkItIsOn(t *testing.T) {
	t.Parallel()
	cloud, file := project(t)
	text, err := os.ReadFile(file)
	check(t, err)
	check(t, os.WriteFile(file, bytes.ReplaceAll(text, []byte("{name: prod}"), []byte("{name: my-prod}")), 0o644))
	missing := lookalikes(t, cloud, "my-prod")
	upToTheSeed(t, file)
	status := data[statusData](t, "status", "-f", file, "-o", "json")
	ids := map[string]string{}
	for _, r := range status.Resources {
		ids[r.Step] = r.ID
	}
	ours := service(t, cloud, "my-prod", ids["network"], ids["subnet"], ownership.New("my-prod", "management-cluster").Description())

	// A port of somebody else on the network: it is told of, and stays.
	network := cloud.Member.Network(t)
	foreign, err := ports.Create(t.Context(), network, ports.CreateOpts{Name: "printer", NetworkID: ids["network"]}).Extract()
	check(t, err)

	check(t, os.RemoveAll(filepath.Join(filepath.Dir(file), ".slipway")))
	check(t, servers.Delete(t.Context(), cloud.Member.Compute(t), ids["seed"]).ExtractErr())
	dry := data[downData](t, "down", "--dry-run", "-f", file, "-o", "json")
	for _, id := range ours {
		if !slices.ContainsFunc(dry.Deleted, func(r struct{ ID string }) bool { return r.ID == id }) {
			t.Errorf("%s is not told before", id)
		}
	}
	if len(gone(t, cloud, ours)) > 0 {
		t.Error("the dry run deleted something")
	}
	code, _, said := run(t.Context(), "down", "--yes", "-f", file)
	if code != fault.ExitPartial || !strings.Contains(said, "ports that do not belong to the environment use it: "+foreign.ID+" printer") {
		t.Errorf("with a port of others: exit code %d\n%s", code, said)
	}
	if left := gone(t, cloud, ours); len(left) != len(ours) {
		t.Errorf("of the Service went only %v", left)
	}
	check(t, ports.Delete(t.Context(), network, foreign.ID).ExtractErr()) // it was still there
	if down := data[downData](t, "down", "--yes", "-f", file, "-o", "json"); len(down.Left) > 0 {
		t.Errorf("left %v", down.Left)
	}
	if list := missing(); len(list) > 0 {
		t.Errorf("others lost %v", list)
	}
}
